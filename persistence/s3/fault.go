package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"syscall"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"carrel.dev/workspace"
)

// The codes that S3 answers with, see its API reference, "Error responses".
const (
	codeNoKey    = "NoSuchKey"
	codeNoUpload = "NoSuchUpload"
	codeRange    = "InvalidRange"
)

// fault classifies what became of a request. The message has the reason and
// neither a URL, nor a bucket, nor what a server wrote: a client may see it.
// Everything is Unavailable: the contents may be fine, and the way there is not.
// Only a ctx that ended makes it Canceled.
func fault(ctx context.Context, doing string, err error) error {
	var known *workspace.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return workspace.Errorf(workspace.Canceled, "%s: %w", doing, context.Cause(ctx))
	}
	code, status := answer(err)
	if code == "" && status == 0 {
		reason, hint := connection(err)
		return workspace.Errorf(workspace.Unavailable, "%s: %s", doing, reason).Hinted("%s", hint)
	}
	return workspace.Errorf(workspace.Unavailable, "%s: the blob store answers %s", doing, answerText(code, status)).
		Hinted("%s", answerHint(code, status))
}

// answer is the code of an error that a server answered with, "" for none, and
// the HTTP status, 0 if there was no answer.
func answer(err error) (code string, status int) {
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	var response *awshttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		status = response.HTTPStatusCode()
	}
	return code, status
}

var plainCode = regexp.MustCompile(`^[A-Za-z0-9.]{1,60}$`)

func answerText(code string, status int) string {
	switch {
	case !plainCode.MatchString(code):
		return fmt.Sprintf("with status %d", status)
	case status == 0:
		return code
	}
	return fmt.Sprintf("%s (%d)", code, status)
}

// rights are those that a store needs, of the bucket and of what is in it.
const rights = "s3:ListBucket and s3:ListBucketMultipartUploads of the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload of what is in it"

func answerHint(code string, status int) string {
	switch code {
	case "NoSuchBucket":
		return "Whoever runs Carrel has to make the bucket, or to name another one with --blobs."
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return credentialsHint
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return "Whoever runs Carrel has to name the bucket's region in --blobs, with region=REGION."
	case "RequestTimeTooSkewed":
		return "Whoever runs Carrel has to set the clock of this machine."
	case "InvalidObjectState":
		return "The content has gone to an archive. Whoever runs Carrel has to restore it, and to keep the bucket's lifecycle rules from moving contents there."
	}
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return "Whoever runs Carrel has to give its credentials these rights: " + rights + "."
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
		return "Whoever runs Carrel has to name the bucket's region in --blobs, with region=REGION."
	}
	return retryHint
}

const (
	retryHint       = "Repeat the call. If it goes on, whoever runs Carrel has to look at the blob store."
	credentialsHint = "Whoever runs Carrel has to give it credentials for the blob store, as the AWS tools have them: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the machine's role."
)

// connection says why there was no answer, and what to do.
func connection(err error) (reason, hint string) {
	var name *net.DNSError
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	var errno syscall.Errno
	switch {
	case errors.Is(err, noCredentials{}):
		return "there are no credentials for the blob store", credentialsHint
	case errors.As(err, &certificate):
		return "the certificate of the blob store is not trusted", "Whoever runs Carrel has to have this machine trust the certificate, or to set AWS_CA_BUNDLE."
	case errors.As(err, &name):
		return "the name of the blob store's server is not known", "Whoever runs Carrel has to look at the endpoint and the region in --blobs."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "the blob store does not answer in time", retryHint
	case errors.As(err, &errno):
		return "the blob store cannot be reached: " + errno.Error(), retryHint
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection to the blob store was cut", retryHint
	}
	return fmt.Sprintf("the blob store cannot be asked (%T)", innermost(err)), retryHint
}

// innermost is the error at the end of a chain.
func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// isCode reports whether a server answered with a code.
func isCode(err error, code string) bool {
	got, _ := answer(err)
	return got == code
}
