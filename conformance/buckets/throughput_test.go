package buckets

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"carrel.dev/workspace"
)

// TestThroughput measures Put and Open of 64 MiB beside a plain PUT and GET of the
// same bytes at the same server. It fails for a wrong content only.
func TestThroughput(t *testing.T) {
	g := newGateway(t)
	store := open(t, g.addr, "speed")
	const large = 64 << 20
	data := made(1, large)
	best := map[string]time.Duration{}
	measure := func(what string, do func() error) {
		t.Helper()
		began := time.Now()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if took := time.Since(began); best[what] == 0 || took < best[what] {
			best[what] = took
		}
	}
	for range size(1, 5) {
		var id workspace.OID
		measure("put", func() (err error) {
			id, err = store.Put(t.Context(), bytes.NewReader(data), large)
			return err
		})
		measure("open and read", func() error { return same(store, t, id, data) })
		get, put := presigned(t, g, "speed/"+id.String())
		measure("plain PUT", func() error { return plainPut(put, data) })
		measure("plain GET", func() error { return plainGet(get, data) })
	}
	for what, took := range best {
		t.Logf("%-24s %4.0f ms %5.0f MiB/s", what, float64(took.Milliseconds()), large/float64(1<<20)/took.Seconds())
	}
}

func same(store workspace.Blobs, t *testing.T, id workspace.OID, want []byte) error {
	r, err := store.Open(t.Context(), id)
	if err != nil {
		return err
	}
	defer r.Close()
	return compare(r, want)
}

// compare reads to the end and holds what comes against what is wanted after.
func compare(r io.Reader, want []byte) error {
	buf := make([]byte, 1<<20)
	for at := 0; ; {
		n, err := r.Read(buf)
		if at+n > len(want) || !bytes.Equal(buf[:n], want[at:at+n]) {
			return fmt.Errorf("other bytes at %d", at)
		}
		if at += n; err == io.EOF && at == len(want) {
			return nil
		} else if err != nil {
			return fmt.Errorf("after %d bytes: %w", at, err)
		}
	}
}

func plainPut(url string, data []byte) error {
	req, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", r.StatusCode)
	}
	return nil
}

func plainGet(url string, want []byte) error {
	r, err := http.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.CopyN(io.Discard, r.Body, int64(len(fmt.Sprintf("blob %d\x00", len(want))))); err != nil {
		return err
	}
	return compare(r.Body, want)
}

// presigned is a URL by which anybody may read and write an object.
func presigned(t *testing.T, g *gateway, key string) (get, put string) {
	t.Helper()
	sign := sdk.NewPresignClient(sdk.New(sdk.Options{
		BaseEndpoint: aws.String("http://" + g.addr), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
	}))
	one, err := sign.PresignGetObject(t.Context(), &sdk.GetObjectInput{Bucket: aws.String("bodies"), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	two, err := sign.PresignPutObject(t.Context(), &sdk.PutObjectInput{Bucket: aws.String("bodies"), Key: aws.String(key + "-plain")})
	if err != nil {
		t.Fatal(err)
	}
	return one.URL, two.URL
}
