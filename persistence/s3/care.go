package s3

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/workspace"
)

// Contents implements workspace.Inventory. What is not named as a content is
// passed over. The size is that of the object without the header that its content
// would have, the age goes by the server's clock.
func (b *Blobs) Contents(ctx context.Context, before time.Time) iter.Seq2[workspace.Stored, error] {
	const doing = "list contents"
	return func(yield func(workspace.Stored, error) bool) {
		pages := sdk.NewListObjectsV2Paginator(b.client, &sdk.ListObjectsV2Input{Bucket: &b.cfg.Bucket, Prefix: aws.String(b.folder())})
		var last workspace.OID
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(workspace.Stored{}, fault(ctx, doing, err))
				return
			}
			for _, o := range page.Contents {
				c, ok := b.stored(o)
				if !ok || !old(c.Used, before) {
					continue
				}
				if bytes.Compare(c.ID[:], last[:]) < 0 {
					yield(c, workspace.Errorf(workspace.Unavailable, "%s: the blob store lists them in no order", doing).Hinted("Use a bucket of the general kind."))
					return
				}
				if last = c.ID; !yield(c, nil) {
					return
				}
			}
		}
	}
}

// stored tells what an object is; ok is false for one that is no content.
func (b *Blobs) stored(o types.Object) (c workspace.Stored, ok bool) {
	name, ours := strings.CutPrefix(aws.ToString(o.Key), b.folder())
	id, err := workspace.ParseOID(name)
	if !ours || err != nil || id.String() != name {
		return c, false
	}
	return workspace.Stored{ID: id, Size: content.SizeIn(aws.ToInt64(o.Size)), Used: aws.ToTime(o.LastModified).UTC()}, true
}

// old reports whether a content was last put before a time, the zero time for
// ever. Servers may tell the time in whole seconds: what was put in the second of
// before counts as put after it.
func old(used, before time.Time) bool {
	return before.IsZero() || !used.Truncate(time.Second).Add(time.Second).After(before)
}

// looksAtOnce is how many contents are looked at at once.
const looksAtOnce = 16

// Discard removes those of some contents that were last put before a time, and
// returns them. The caller has seen to it that nobody begins to refer to them
// meanwhile, see workspace.Sweeper. One that is put at the same moment may be gone
// afterwards: whoever is to refer to it asks Has first, as a workspace.Store does.
func (b *Blobs) Discard(ctx context.Context, before time.Time, ids []workspace.OID) ([]workspace.Stored, error) {
	held, cancel := context.WithTimeout(ctx, b.cfg.Hold)
	defer cancel()
	var mu sync.Mutex // guards gone
	var gone []workspace.Stored
	group, grouped := errgroup.WithContext(held)
	group.SetLimit(looksAtOnce)
	for _, id := range ids {
		group.Go(func() error {
			c, removed, err := b.discard(grouped, id, before)
			if removed {
				mu.Lock()
				gone = append(gone, c)
				mu.Unlock()
			}
			return err
		})
	}
	return gone, fault(ctx, "remove a content", group.Wait())
}

func (b *Blobs) discard(ctx context.Context, id workspace.OID, before time.Time) (c workspace.Stored, removed bool, err error) {
	head, err := b.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id)})
	if err != nil {
		// There is no body that would say what of it is not there.
		if _, status := answer(err); status == http.StatusNotFound {
			err = nil
		}
		return c, false, err
	}
	c = workspace.Stored{ID: id, Size: content.SizeIn(aws.ToInt64(head.ContentLength)), Used: aws.ToTime(head.LastModified).UTC()}
	if !old(c.Used, before) {
		return c, false, nil
	}
	_, err = b.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b.cfg.Bucket, Key: b.key(id)})
	return c, err == nil, err
}

// abandoned is the age at which an upload in parts belongs to nobody any more.
const abandoned = 24 * time.Hour

// Abandoned lists the uploads in parts that were begun more than a day ago and
// never completed, by what they were to store.
func (b *Blobs) Abandoned(ctx context.Context) ([]string, error) {
	var names []string
	err := b.uploads(ctx, func(u types.MultipartUpload) error {
		names = append(names, strings.TrimPrefix(aws.ToString(u.Key), b.folder()))
		return nil
	})
	return names, err
}

// Clean ends the abandoned uploads and returns how many those were. Their parts
// take room until then, and no list of contents shows them.
func (b *Blobs) Clean(ctx context.Context) (removed int, err error) {
	err = b.uploads(ctx, func(u types.MultipartUpload) error {
		_, err := b.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &b.cfg.Bucket, Key: u.Key, UploadId: u.UploadId})
		if isCode(err, codeNoUpload) { // another process cleans too
			return nil
		}
		if err == nil {
			removed++
		}
		return err
	})
	return removed, err
}

// uploads visits the abandoned uploads.
func (b *Blobs) uploads(ctx context.Context, visit func(types.MultipartUpload) error) error {
	const doing = "look for abandoned uploads"
	pages := sdk.NewListMultipartUploadsPaginator(b.client, &sdk.ListMultipartUploadsInput{Bucket: &b.cfg.Bucket, Prefix: aws.String(b.folder())})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if isCode(err, codeNoUpload) { // how some servers say that there are none
			return nil
		}
		if err != nil {
			return fault(ctx, doing, err)
		}
		for _, u := range page.Uploads {
			if !strings.HasPrefix(aws.ToString(u.Key), b.folder()) || u.Initiated == nil || time.Since(*u.Initiated) < abandoned {
				continue
			}
			if err := visit(u); err != nil {
				return fault(ctx, doing, err)
			}
		}
	}
	return nil
}
