package s3

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/workspace"
)

const reading = "read content"

// stream is a part of an object on its way here.
type stream struct {
	*bufio.Reader
	body  io.Closer
	total int64  // of the object
	sums  string // that its metadata has
}

// maxStored bounds the offsets of ranges: an object has at most 50 TB.
const maxStored = 1 << 60

// get asks for the bytes of a content's object from one offset up to another one.
// An object that is not there is a missing content, one that ends before the
// range a damaged one.
func (b *Blobs) get(ctx context.Context, id workspace.OID, from, to int64) (*stream, error) {
	span := fmt.Sprintf("bytes=%d-%d", from, to-1)
	if to >= maxStored {
		span = fmt.Sprintf("bytes=%d-", from)
	}
	out, err := b.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id), Range: &span})
	switch {
	case isCode(err, codeNoKey):
		return nil, content.Missing(id)
	case isCode(err, codeRange):
		return nil, content.Damaged(id, "its object ends before byte %d", from+1)
	case err != nil:
		return nil, fault(ctx, reading, err)
	}
	total, err := totalSize(out, from)
	if err != nil {
		out.Body.Close()
		return nil, err
	}
	return &stream{bufio.NewReader(out.Body), out.Body, total, out.Metadata[sumsName]}, nil
}

// totalSize is the size of the object that an answer is a part of. One that is not
// the part that was asked for is broken.
func totalSize(out *sdk.GetObjectOutput, from int64) (int64, error) {
	if out.ContentRange != nil {
		var first, last, total int64
		if _, err := fmt.Sscanf(*out.ContentRange, "bytes %d-%d/%d", &first, &last, &total); err == nil && first == from {
			return total, nil
		}
	} else if out.ContentLength != nil && from == 0 {
		return *out.ContentLength, nil
	}
	return 0, broken{errOtherRange}
}

var errOtherRange error = workspace.Errorf(workspace.Unavailable, "%s: the blob store answers with another range than was asked for", reading).Hinted(retryHint)

// broken is what went wrong with an answer after it had begun; the same request
// may go well the next time.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// again does what may break until it does not, or has broken too often, with a
// pause between.
func (b *Blobs) again(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		var again broken
		if !errors.As(err, &again) {
			return err
		}
		pause, pauseErr := b.backoff.BackoffDelay(attempt, again.error)
		if attempt >= b.cfg.Attempts || pauseErr != nil || !sleep(ctx, pause) {
			return fault(ctx, reading, again.error)
		}
	}
}

// sleep reports whether ctx lived on.
func sleep(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// head reads the header of a content, which is where s begins, and returns the
// size of the content. Its object has exactly that.
func (s *stream) head(id workspace.OID) (start, size int64, err error) {
	text, err := s.Peek(int(min(content.MaxHeader, s.total)))
	if err != nil {
		return 0, 0, broken{err}
	}
	start, size, ok := content.ParseHeader(text)
	if !ok {
		return 0, 0, content.Damaged(id, "it does not begin with the header of a blob")
	}
	if found := s.total - start; found != size {
		return 0, 0, content.Damaged(id, "it has %d of %d bytes", found, size)
	}
	_, err = s.Discard(int(start))
	return start, size, err
}

// Has implements workspace.Blobs: it compares the size in the header with that
// of the object.
func (b *Blobs) Has(ctx context.Context, id workspace.OID) (bool, error) {
	held, cancel := context.WithTimeout(ctx, b.cfg.Hold)
	defer cancel()
	err := b.again(held, func() error {
		s, err := b.get(held, id, 0, content.MaxHeader)
		if err != nil {
			return err
		}
		defer s.body.Close()
		_, _, err = s.head(id)
		return err
	})
	switch workspace.KindOf(err) {
	case "":
		return true, nil
	case workspace.Corrupt:
		return false, nil
	case workspace.Canceled:
		if ctx.Err() == nil {
			return false, fault(ctx, "look for content", context.DeadlineExceeded)
		}
	}
	return false, err
}
