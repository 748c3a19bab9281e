package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// examined is what was found out about a content.
type examined struct {
	size   int64
	damage error // nil if it is whole
}

// content reads a content, once a run if it is whole: one that was missing may
// have been stored again.
func (f *examination) content(ctx context.Context, id OID) (examined, error) {
	if v, known := f.contents[id]; known {
		return v, nil
	}
	size, err := f.host.measure(ctx, id)
	if err != nil && KindOf(err) != Corrupt {
		return examined{}, err
	}
	v := examined{size, err}
	if err == nil {
		f.contents[id] = v
	}
	f.report.Contents++
	f.report.Bytes += size
	return v, nil
}

// measure reads a content, which checks it, and returns its size.
func (h *Host) measure(ctx context.Context, id OID) (int64, error) {
	r, err := h.cfg.Blobs.Open(ctx, id)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, r)
}

// finding completes the finding of a content that is not whole.
func (v examined) finding(x Finding, id OID, what string) Finding {
	x.Kind, x.Severity, x.ID, x.Hint = ContentDamaged, Loss, id.String(), hintPut
	x.Text = fmt.Sprintf("%s is damaged: %s", what, plainText(v.damage))
	if errors.Is(v.damage, ErrMissing) {
		x.Kind, x.Text = ContentMissing, what+" is missing"
	}
	return x
}

// checkContents checks what the records of a stream name, and what its upper has.
func (f *examination) checkContents(ctx context.Context, r *replay) error {
	r.checked = true
	var found []Finding
	at := Finding{Project: r.id.Project, Stream: r.id.Name}
	for _, id := range sortedIDs(r.named) {
		v, err := f.content(ctx, id)
		if err != nil {
			return err
		}
		if v.damage != nil {
			x := at
			x.Seq = r.named[id]
			found = append(found, v.finding(x, id, "a content that the record names"))
		}
	}
	for p, e := range r.state.Upper.Within(Root) {
		if e.OID.IsZero() {
			continue
		}
		x, err := f.entry(ctx, r, p, e)
		if err != nil {
			return err
		}
		if x != nil {
			x.Project, x.Stream, x.Path = at.Project, at.Stream, p
			found = append(found, *x)
		}
	}
	if len(found) == 0 {
		return nil
	}
	// It may have been deleted since, and its contents collected.
	if gone, err := f.deletedSince(ctx, r); gone || err != nil {
		return err
	}
	f.report.Findings = append(f.report.Findings, found...)
	return nil
}

func sortedIDs(named map[OID]Seq) []OID {
	ids := make([]OID, 0, len(named))
	for id := range named {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b OID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// entry checks the content of an upper's entry, nil if there is nothing to say.
func (f *examination) entry(ctx context.Context, r *replay, p Path, e Entry) (*Finding, error) {
	v, err := f.content(ctx, e.OID)
	if err != nil {
		return nil, err
	}
	switch _, named := r.named[e.OID]; {
	case v.damage != nil:
		x := v.finding(Finding{}, e.OID, "the content of an uncommitted file")
		return &x, nil
	case v.size != e.Size:
		return &Finding{Kind: ContentDamaged, Severity: Loss, ID: e.OID.String(), Hint: hintRestore,
			Text: fmt.Sprintf("the content has %d bytes, and the file has %d", v.size, e.Size)}, nil
	case !named && !f.forked(r.id):
		return &Finding{Kind: ContentUnnamed, Severity: Loss, ID: e.OID.String(), Hint: "Do not run `carrel gc`, which may remove it. Write the file again.",
			Text: "no record names the content of an uncommitted file"}, nil
	}
	return nil, nil
}

// deletedSince reads on from where the replay ended.
func (f *examination) deletedSince(ctx context.Context, r *replay) (bool, error) {
	for rec, err := range f.host.cfg.Store.Records(ctx, r.id, r.last) {
		if KindOf(err) == Corrupt {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if rec.Type == WorkspaceDeleted {
			return true, nil
		}
	}
	return false, nil
}
