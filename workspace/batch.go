package workspace

import (
	"context"
	"fmt"
)

// Step is one change of a batch.
type Step func(ctx context.Context, st *stage) error

// WriteStep is Workspace.Write in a batch.
func WriteStep(p Path, content []byte, o WriteOptions) Step {
	return rewriteStep(p, o, rewriting{op: "writeFile", edit: replaceBy(content)})
}

// EditStep is Workspace.Edit in a batch.
func EditStep(p Path, o WriteOptions, edit Edit) Step {
	return rewriteStep(p, o, rewriting{"edit", edit, true})
}

func rewriteStep(p Path, o WriteOptions, how rewriting) Step {
	return func(ctx context.Context, st *stage) error {
		_, err := st.rewrite(ctx, p, o, how)
		return err
	}
}

// DeleteStep is Workspace.Delete in a batch.
func DeleteStep(p Path, recursive bool) Step {
	return func(ctx context.Context, st *stage) error {
		_, err := st.delete(ctx, p, recursive)
		return err
	}
}

// TransferStep is Workspace.Copy, or Workspace.Move, in a batch.
func TransferStep(from, to Path, overwrite, move bool) Step {
	return func(ctx context.Context, st *stage) error {
		_, err := st.transfer(ctx, from, to, overwrite, move)
		return err
	}
}

// MkdirStep is Workspace.Mkdir in a batch.
func MkdirStep(p Path) Step {
	return func(ctx context.Context, st *stage) error {
		_, err := st.mkdir(ctx, p)
		return err
	}
}

// SymlinkStep is Workspace.Symlink in a batch.
func SymlinkStep(p Path, target string) Step {
	return func(ctx context.Context, st *stage) error {
		_, err := st.symlink(ctx, p, target)
		return err
	}
}

// RevertStep is Workspace.Revert in a batch.
func RevertStep(p Path) Step {
	return func(_ context.Context, st *stage) error {
		gone := st.now.State.Upper.droppable(p)
		if len(gone) == 0 {
			return st.now.deletedAbove(p)
		}
		for _, q := range gone {
			st.set(q, nil)
		}
		st.forgets(p)
		return nil
	}
}

// Batch applies changes one after the other as one event: all of them or, with
// an error that names the item, none.
func (w *Workspace) Batch(ctx context.Context, steps []Step) error {
	if most := w.live.host.cfg.Limits.BatchItems; len(steps) > most {
		return Errorf(Limit, "%d changes are more than %d", len(steps), most).Hinted("Split them over several batches.")
	}
	_, err := apply(ctx, w, "batch", func(ctx context.Context, st *stage) (int, error) {
		meter := MeterOf(ctx)
		meter.Expect(len(steps))
		for i, step := range steps {
			meter.Step()
			if err := step(ctx, st); err != nil {
				return 0, InItem(i, len(steps), err)
			}
		}
		return len(steps), nil
	})
	return err
}

// InItem names the item of a batch, counted from 0, that an error is about.
func InItem(i, n int, err error) error {
	return &Error{Kind: KindOf(err), Hint: HintOf(err), Err: fmt.Errorf("item %d of %d: %w", i+1, n, err)}
}
