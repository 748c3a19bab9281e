package workspace

import (
	"context"
	"fmt"
)

// home is a project's own stream as it was examined.
type home struct {
	*replay
	catalog *Catalog
	copies  map[copyOf]Record
	early   Seq // the end of the first reading
}

// copyOf says what a record of the project's stream is a copy of.
type copyOf struct {
	stream string
	seq    Seq
}

// home examines a project's own stream.
func (f *examination) home(ctx context.Context, project string) (*home, error) {
	f.report.Streams++
	h := &home{
		replay:  newReplay(StreamID{project, ProjectStream}),
		catalog: (&Catalog{}).clone(), copies: map[copyOf]Record{},
	}
	saved, err := f.checkpoint(ctx, h.id) // before the records, which then reach it
	if err != nil {
		return nil, err
	}
	d := h.reduction()
	err = f.records(ctx, h.replay, func(r Record) {
		f.takeHome(ctx, h, r)
		saved.compare(h.replay, d)
	})
	if err != nil {
		return nil, err
	}
	h.early = h.last
	return h, f.judge(ctx, h.replay, saved, d)
}

// takeHome takes in a record of the project's stream.
func (f *examination) takeHome(ctx context.Context, h *home, r Record) {
	r, err := f.host.resolve(ctx, r)
	if err != nil {
		return // it was reported
	}
	h.catalog.reduce(r)
	if !isCopied(r.Type) || r.Version > payloadVersion {
		return
	}
	p, err := decode[Copied](r)
	if err != nil {
		f.found(Finding{Kind: RecordMalformed, Severity: Loss, Project: h.id.Project, Stream: ProjectStream, Seq: r.Seq,
			Text: "the record is passed over: " + plainText(err), Hint: hintRestore})
		return
	}
	h.copies[copyOf{p.Stream, p.Seq}] = r
}

// copies holds the copies on the project's stream against the streams.
func (f *examination) copies(ctx context.Context, h *home, streams []*replay) error {
	for r, err := range f.host.cfg.Store.Records(ctx, h.id, h.last) { // what came since
		if KindOf(err) == Corrupt {
			h.whole = false // known already, or found the next time
			break
		}
		if err != nil {
			return err
		}
		f.takeHome(ctx, h, r)
	}
	byName := map[string]*replay{}
	for _, s := range streams {
		byName[s.id.Name] = s
		for seq, original := range s.events {
			if _, ok := h.copies[copyOf{s.id.Name, seq}]; !ok && h.whole {
				f.found(Finding{Kind: CopyMissing, Severity: Loss, Project: h.id.Project, Stream: s.id.Name, Seq: seq, Hint: hintRestore,
					Text: fmt.Sprintf("the project's stream has no copy of the record, a %s", original.Type)})
			}
		}
	}
	for of, c := range h.copies {
		if why := f.copyWrong(h, of, c, byName[of.stream]); why != "" {
			f.found(Finding{Kind: CopyWrong, Severity: Loss, Project: h.id.Project, Stream: ProjectStream, Seq: c.Seq, Hint: hintRestore,
				Text: fmt.Sprintf("%s, of which it is a copy, %s", recordName(of), why)})
		}
	}
	return nil
}

func recordName(of copyOf) string { return fmt.Sprintf("record %d of %s", of.seq, of.stream) }

// copyWrong says how an original differs from its copy, "" if it does not or
// cannot be read.
func (f *examination) copyWrong(h *home, of copyOf, c Record, s *replay) string {
	if c.Seq > h.early || s != nil && !s.whole {
		return "" // it may be newer than what was read of its stream
	}
	if s == nil {
		return "is not there"
	}
	original, ok := s.events[of.seq]
	p, err := decode[Copied](c)
	switch {
	case err != nil:
		return "" // it was reported
	case !ok:
		return "is not there"
	case original.Type != c.Type:
		return "is a " + original.Type
	case original.ID+"/copy" != c.ID:
		return "is another event"
	case p.Payload != nil && !sameJSON(p.Payload, original.Payload):
		return "says something else"
	}
	return ""
}
