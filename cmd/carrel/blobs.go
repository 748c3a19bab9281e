package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/persistence/spill"
	"carrel.dev/workspace"
)

func (c *cli) blobsCommand() *cobra.Command {
	return c.group(&cobra.Command{
		Use:   "blobs",
		Short: "Move larger contents between the data directory and a bucket",
		Long: "Contents of 1.5 MB and more can be kept in a bucket, on Amazon S3 or a server that speaks its protocol:\n" +
			"with --blobs or CARREL_BLOBS, every command and every server keeps them there.\n\n" +
			"  s3://BUCKET/PREFIX?region=REGION&endpoint=URL&path-style=BOOL&from=BYTES\n\n" +
			"endpoint is a server that is not Amazon's, which has the bucket in the path of its URLs unless\n" +
			"path-style=false; from is the size from which contents go there. Credentials are those of the AWS\n" +
			"tools: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, the machine's role. The data directory\n" +
			"records the bucket and refuses to be used without it.",
		Example: "  carrel blobs move --to 's3://bodies/team?region=eu-central-1'",
	}, c.blobsMove())
}

// blobsReport is what a move did, as it is printed for programs.
type blobsReport struct {
	Contents int             `json:"contents"` // that were moved
	Bytes    int64           `json:"bytes"`    // of them
	Damaged  []workspace.OID `json:"damaged"`  // that cannot be read, and stay
	Bucket   bool            `json:"bucket"`   // whether the data directory has one now
}

// toDirectory is the target of a move back.
const toDirectory = "dir"

func (c *cli) blobsMove() *cobra.Command {
	var a asking
	var to string
	cmd := &cobra.Command{
		Use:   "move --to s3://BUCKET/PREFIX | dir",
		Short: "Move the larger contents to a bucket, or back",
		Long: "Move contents of the data directory to a bucket, or those in the bucket back. Each is read where it has\n" +
			"arrived before it is removed where it was. A move that was interrupted, however that was, loses nothing;\n" +
			"the same command goes on with it.\n\n" +
			"No other process may use the data directory when a move begins. They may be started again at once,\n" +
			"with --blobs: until a move back has ended, contents are in both places.",
		Example: "  carrel blobs move --to 's3://bodies/team?region=eu-central-1'\n" +
			"  carrel blobs move --to dir --json",
		Args: usageArgs(cobra.NoArgs, "move takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			r, err := c.move(ctx, to)
			if err != nil {
				return err
			}
			if a.json {
				err = c.printJSON(r)
			} else {
				err = c.print(fmt.Sprintf("moved: %s (%s)\n", count(r.Contents, "content", "contents"), bytesText(r.Bytes)))
			}
			if err == nil && len(r.Damaged) > 0 {
				err = workspace.Errorf(workspace.Corrupt, "%s cannot be read, and stayed: %v", count(len(r.Damaged), "content", "contents"), r.Damaged).
					Hinted("`carrel fsck` says what needs them. Write the same content again to mend one, then move again.")
			}
			return err
		}),
	}
	a.jsonFlag(cmd)
	cmd.Flags().StringVar(&to, "to", "", "where to: s3://BUCKET/PREFIX, as for --blobs, or dir")
	if err := cmd.MarkFlagRequired("to"); err != nil {
		panic("carrel: " + err.Error()) // the flag is not defined
	}
	c.completeWith(cmd, "to", toDirectory)
	return cmd
}

// move moves the larger contents.
func (c *cli) move(ctx context.Context, to string) (r blobsReport, err error) {
	h, err := c.openBodies(ctx, to)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	lock, err := h.data.LockMove()
	if err != nil {
		return r, err
	}
	defer lock.Close()
	tell, end := c.progress()
	defer end()
	m := &spill.Move{From: h.large.files, Least: h.large.from, Progress: tell}
	switch {
	case h.large.bucket == nil:
		return blobsReport{Damaged: []workspace.OID{}}, nil // all are in the directory
	case to == toDirectory:
		if err := h.data.Leave(ctx); err != nil {
			return r, err
		}
		m.From, m.To, m.Least = h.large.bucket, h.large.files, 0
	default:
		if err := h.data.Join(ctx); err != nil {
			return r, err
		}
		m.To = h.large.bucket
	}
	moved, err := m.Run(ctx)
	r = blobsReport{moved.Contents, moved.Bytes, append([]workspace.OID{}, moved.Damaged...), true}
	if err != nil || to != toDirectory || len(r.Damaged) > 0 {
		return r, err
	}
	r.Bucket = false
	return r, h.leaveBucket(ctx)
}

// openBodies opens the data directory for a move, and nothing that stands on it.
func (c *cli) openBodies(ctx context.Context, to string) (*home, error) {
	path, err := c.dataPath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, noData(path)
	}
	h := &home{path: path, blobs: c.blobsLocation()}
	if to != toDirectory {
		h.blobs = to
	}
	if err := h.openData(ctx, homeOptions{}); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// leaveBucket ends the use of a bucket that has no contents any more.
func (h *home) leaveBucket(ctx context.Context) error {
	for c, err := range h.large.bucket.Contents(ctx, time.Time{}) {
		if err == nil {
			err = workspace.Errorf(workspace.Conflict, "content %s came to the bucket meanwhile", c.ID).Hinted("Move again.")
		}
		return err
	}
	if _, err := h.large.bucket.Clean(ctx); err != nil {
		return err
	}
	return h.data.Left(ctx)
}
