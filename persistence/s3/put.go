package s3

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// partSize is the size in bytes of the parts in which an object is uploaded that is
// larger than one, maxParts how many parts S3 takes, atOnce how many are under way.
const (
	partSize = 16 << 20
	maxParts = 10_000
	atOnce   = 4
)

const storing = "store content"

// Put implements workspace.Blobs. A content that is there is replaced. What is
// not in memory is first copied to a file, since its id has to be known before a
// byte is sent.
func (b *Blobs) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	sums := &summer{sums: newSums(size)}
	if m, ok := r.(*bytes.Reader); ok {
		source := io.NewSectionReader(m, m.Size()-int64(m.Len()), size)
		id, err := content.Copy(ctx, sums, m, size)
		if err != nil {
			return id, err
		}
		return b.upload(ctx, id, &object{content: source, sums: sums.sums})
	}
	f, err := b.spool()
	if err != nil {
		return workspace.OID{}, err
	}
	defer f.Close()
	id, err := content.Copy(ctx, io.MultiWriter(sums, f), r, size)
	if err != nil {
		return id, err
	}
	return b.upload(ctx, id, &object{content: f, sums: sums.sums})
}

// spooled gives the errors of writing a file their kind.
type spooled struct{ *os.File }

func (f spooled) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, disk.Fault(storing, err)
}

// spool opens a file that has no name, so that nothing is left of it.
func (b *Blobs) spool() (spooled, error) {
	f, err := os.CreateTemp(b.cfg.Spool, "put-")
	if err != nil {
		return spooled{}, disk.Fault(storing, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return spooled{}, disk.Fault(storing, err)
	}
	return spooled{f}, nil
}

// object is a content as it is stored.
type object struct {
	header  []byte
	content io.ReaderAt
	sums    *sums
}

func (o *object) size() int64 { return int64(len(o.header)) + o.sums.size }

// ReadAt reads the header and the content as one.
func (o *object) ReadAt(p []byte, at int64) (n int, err error) {
	if at < int64(len(o.header)) {
		n = copy(p, o.header[at:])
	}
	if n == len(p) {
		return n, nil
	}
	more, err := o.content.ReadAt(p[n:], at+int64(n)-int64(len(o.header)))
	return n + more, err
}

func (o *object) metadata() map[string]string { return map[string]string{sumsName: o.sums.String()} }

// upload stores a content under its id.
func (b *Blobs) upload(ctx context.Context, id workspace.OID, o *object) (workspace.OID, error) {
	o.header = content.Header(o.sums.size)
	var err error
	if o.size() <= b.part {
		err = b.uploadWhole(ctx, id, o)
	} else {
		err = b.uploadLarge(ctx, id, o)
	}
	if err != nil {
		return workspace.OID{}, fault(ctx, storing, err)
	}
	return id, nil
}

// uploadsInAll is how often an upload in parts is made that comes to nothing.
const uploadsInAll = 3

// uploadLarge uploads in parts, and looks whether the content is there: asked a
// second time to complete an upload, which happens when the first answer was lost,
// some servers agree though they died before they had done it. An upload that is
// gone has been completed, or somebody ended it. Both are made once more.
func (b *Blobs) uploadLarge(ctx context.Context, id workspace.OID, o *object) error {
	for range uploadsInAll {
		err := b.uploadParts(ctx, id, o)
		if isCode(err, codeNoUpload) {
			continue
		}
		if err != nil {
			return err
		}
		if there, err := b.Has(ctx, id); there || err != nil {
			return err
		}
	}
	return workspace.Errorf(workspace.Unavailable, "%s: the blob store has completed an upload, and does not have the content", storing).Hinted(retryHint)
}

func (b *Blobs) uploadWhole(ctx context.Context, id workspace.OID, o *object) error {
	_, err := b.client.PutObject(ctx, &sdk.PutObjectInput{
		Bucket: &b.cfg.Bucket, Key: b.key(id), Metadata: o.metadata(), ContentType: aws.String(contentType),
		Body: io.NewSectionReader(o, 0, o.size()), ContentLength: aws.Int64(o.size()),
	})
	return err
}

const contentType = "application/octet-stream"

// abortTime is how long an upload that failed is tried to be taken back. What is
// left is found by its age, see Clean.
const abortTime = 15 * time.Second

func (b *Blobs) uploadParts(ctx context.Context, id workspace.OID, o *object) error {
	begun, err := b.client.CreateMultipartUpload(ctx, &sdk.CreateMultipartUploadInput{
		Bucket: &b.cfg.Bucket, Key: b.key(id), Metadata: o.metadata(), ContentType: aws.String(contentType),
	})
	if err != nil {
		return err
	}
	parts, err := b.sendParts(ctx, id, begun.UploadId, o)
	if err == nil {
		_, err = b.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
			Bucket: &b.cfg.Bucket, Key: b.key(id), UploadId: begun.UploadId,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
	}
	if err != nil && !isCode(err, codeNoUpload) {
		b.abort(ctx, id, begun.UploadId)
	}
	return err
}

// abort takes an upload back, also when ctx has ended.
func (b *Blobs) abort(ctx context.Context, id workspace.OID, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	b.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &b.cfg.Bucket, Key: b.key(id), UploadId: upload})
}

func (b *Blobs) sendParts(ctx context.Context, id workspace.OID, upload *string, o *object) ([]types.CompletedPart, error) {
	size := max(b.part, (o.size()+maxParts-1)/maxParts)
	parts := make([]types.CompletedPart, (o.size()+size-1)/size)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range parts {
		group.Go(func() error {
			from := int64(i) * size
			length := min(size, o.size()-from)
			number := int32(i + 1)
			out, err := b.client.UploadPart(ctx, &sdk.UploadPartInput{
				Bucket: &b.cfg.Bucket, Key: b.key(id), UploadId: upload, PartNumber: &number,
				Body: io.NewSectionReader(o, from, length), ContentLength: &length,
			})
			if err != nil {
				return err
			}
			// The sum that the SDK sent with it is of no use here: an upload that
			// was begun without one is completed without.
			parts[i] = types.CompletedPart{PartNumber: &number, ETag: out.ETag}
			return nil
		})
	}
	return parts, group.Wait()
}
