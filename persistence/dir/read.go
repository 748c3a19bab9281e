package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Has implements workspace.Blobs: it compares the size in the header with that
// of the file.
func (b *Blobs) Has(ctx context.Context, id workspace.OID) (bool, error) {
	if ctx.Err() != nil {
		return false, workspace.Errorf(workspace.Canceled, "%w", context.Cause(ctx))
	}
	r, err := b.open(id)
	if err != nil {
		if workspace.KindOf(err) == workspace.Corrupt {
			return false, nil
		}
		return false, err
	}
	return true, r.Close()
}

// Open implements workspace.Blobs. The whole content is checked here; a read
// fails only if the file is damaged afterwards.
func (b *Blobs) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	r, err := b.open(id)
	if err != nil {
		return nil, err
	}
	if err := r.check(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// open opens a file whose size is right.
func (b *Blobs) open(id workspace.OID) (*reader, error) {
	f, err := os.Open(b.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, content.Missing(id)
	}
	if err != nil {
		return nil, disk.Fault("open content", err)
	}
	start, size, err := measure(f, id)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &reader{io.NewSectionReader(f, start, size), f, id}, nil
}

// measure reads the header of a content's file, and returns where the content
// starts and how long it is.
func measure(f *os.File, id workspace.OID) (start, size int64, err error) {
	head := make([]byte, content.MaxHeader)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, 0, disk.Fault("open content", err)
	}
	start, size, ok := content.ParseHeader(head[:n])
	if !ok {
		return 0, 0, content.Damaged(id, "it does not begin with the header of a blob")
	}
	info, err := f.Stat()
	if err != nil {
		return 0, 0, disk.Fault("open content", err)
	}
	if found := info.Size() - start; found != size {
		return 0, 0, content.Damaged(id, "it has %d of %d bytes", found, size)
	}
	return start, size, nil
}

// reader reads a content in its file.
type reader struct {
	*io.SectionReader
	f  *os.File
	id workspace.OID
}

// check holds the content against its id, and leaves the reader at its start.
func (r *reader) check(ctx context.Context) error {
	got, err := content.Copy(ctx, io.Discard, r, r.Size())
	if err == nil && got != r.id || workspace.KindOf(err) == workspace.Invalid {
		return content.Damaged(r.id, "%d bytes with another id", r.Size())
	}
	if err != nil {
		return err
	}
	_, err = r.Seek(0, io.SeekStart)
	return err
}

// Read fails as Corrupt where the file ends and the content does not.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.SectionReader.Read(p)
	switch at, _ := r.Seek(0, io.SeekCurrent); {
	case err == nil:
		return n, nil
	case err != io.EOF:
		return n, disk.Fault("read content", err)
	case at < r.Size():
		return n, content.Damaged(r.id, "it was cut while it was read")
	}
	return n, io.EOF
}

func (r *reader) Close() error { return disk.Fault("close content", r.f.Close()) }
