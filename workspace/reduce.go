package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Reduce returns the state after a record. It is pure and total: a record of
// another domain is passed over, a malformed one is skipped with a diagnostic,
// and one that only a newer Carrel understands marks the state as unread.
func Reduce(s *State, r Record) *State { return s.reduce(r, payloadOf(r)) }

// reduce is Reduce of a record whose payload is decoded.
func (s *State) reduce(r Record, p payload) *State {
	next := *s
	next.Seq = r.Seq
	switch {
	case !isOurs(r.Type):
		return &next
	case !workspaceTypes[r.Type] || r.Version > payloadVersion:
		if next.Unread == 0 {
			next.Unread = r.Seq
		}
		return &next
	}
	if err := next.take(r, p); err != nil {
		skipped := *s
		skipped.Seq = r.Seq
		skipped.diagnose(r, err.Error())
		return &skipped
	}
	next.remember(r)
	return &next
}

// isOurs reports whether an event of this type concerns a workspace's state.
func isOurs(typ string) bool {
	const domain = "workspace/"
	return len(typ) > len(domain) && typ[:len(domain)] == domain
}

// payload is what a record of a workspace says, decoded: one of the structs that
// event.go has for its type.
type payload struct {
	value any
	err   error
}

// payloadOf decodes the payload of a record; that of an event without one, or of
// another domain, is nothing.
func payloadOf(r Record) (p payload) {
	switch r.Type {
	case WorkspaceCreated:
		p.value, p.err = decode[Created](r)
	case WorkspaceConfigured:
		p.value, p.err = decode[Configured](r)
	case WorkspaceChanged:
		p.value, p.err = decodeEffect(r)
	case WorkspaceCommitting:
		p.value, p.err = decode[Committing](r)
	case WorkspaceCommitted:
		p.value, p.err = decode[Committed](r)
	case WorkspaceCommitDrop:
		p.value, p.err = decode[CommitDropped](r)
	}
	return p
}

// decode reads a record's payload.
func decode[T any](r Record) (T, error) {
	var p T
	if err := json.Unmarshal(r.Payload, &p); err != nil {
		return p, malformed(r, err)
	}
	return p, nil
}

func malformed(r Record, err error) error { return Errorf(Invalid, "malformed %s: %w", r.Type, err) }

// decodeEffect reads what a change did and not what was there before, which is
// for readers of the history. It is the most frequent record by far.
func decodeEffect(r Record) (Changed, error) {
	type change struct {
		Path  Path       `json:"path"`
		After *entryJSON `json:"after"`
	}
	effect, err := decode[struct {
		Drop    []Path   `json:"drop"`
		Changes []change `json:"changes"`
	}](r)
	if err != nil {
		return Changed{}, err
	}
	p := Changed{Drop: effect.Drop, Changes: make([]PathChange, len(effect.Changes))}
	for i, c := range effect.Changes {
		p.Changes[i].Path = c.Path
		if c.After == nil {
			continue
		}
		e, err := c.After.entry()
		if err != nil {
			return Changed{}, malformed(r, err)
		}
		p.Changes[i].After = &e
	}
	return p, nil
}

// take changes s, which nobody else has seen yet, by one record.
func (s *State) take(r Record, p payload) error {
	if !s.Born && r.Type != WorkspaceCreated {
		return Errorf(Invalid, "%s before the workspace was created", r.Type)
	}
	if p.err != nil {
		return p.err
	}
	switch p := p.value.(type) {
	case Created:
		if !s.Born { // a second birth says nothing new
			s.Born, s.BornAt, s.Digest = true, r.At, p.Digest
		}
	case Configured:
		return s.takeConfigured(p)
	case Changed:
		return s.takeChanged(r, p)
	case Committing:
		s.takeCommitting(p)
	case Committed:
		return s.takeCommitted(r, p)
	case CommitDropped:
		s.endIntent(p.Key)
	}
	if r.Type == WorkspaceDeleted {
		s.Deleted = true
	}
	return nil
}

func (s *State) takeConfigured(p Configured) error {
	devs := maps.Clone(s.Deviations)
	if devs == nil {
		devs = map[Path]Deviation{}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Mounts)) {
		point, err := checkPoint(key)
		if err != nil {
			return err
		}
		if string(point) != key {
			return fmt.Errorf("mount point %q is not canonical", key)
		}
		d, err := p.Mounts[key].apply(devs[point])
		if err != nil {
			return err
		}
		if d == (Deviation{}) {
			delete(devs, point)
		} else {
			devs[point] = d
		}
	}
	s.Deviations = devs
	return nil
}

func (s *State) takeChanged(r Record, p Changed) error {
	u := s.Upper.copy()
	for _, d := range p.Drop {
		u.removeTree(d)
	}
	if err := u.takeAll(p.Changes, r); err != nil {
		return err
	}
	s.Upper = u
	return nil
}

// takeAll changes u, which nobody else has seen yet.
func (u *Upper) takeAll(changes []PathChange, r Record) error {
	for _, c := range changes {
		if canonical, err := ParsePath(string(c.Path)); err != nil || canonical != c.Path || c.Path == Root {
			return Errorf(Invalid, "%s names the path %q", r.Type, clip(string(c.Path)))
		}
		if c.After == nil {
			u.remove(c.Path)
			continue
		}
		e := *c.After
		e.Modified = r.At
		if old, ok := u.Get(c.Path); ok && old.Kind == e.Kind && old.OID == e.OID && old.Mode == e.Mode {
			e.Modified = old.Modified // only what it stands on changed
		}
		u.set(c.Path, e)
	}
	return nil
}

func (s *State) takeCommitting(p Committing) {
	s.Intents = maps.Clone(s.Intents)
	if s.Intents == nil {
		s.Intents = map[string]Committing{}
	}
	s.Intents[p.Key] = p
}

func (s *State) takeCommitted(r Record, p Committed) error {
	intent, ok := s.Intents[p.Key]
	if !ok {
		return Errorf(Invalid, "%s without an intent %q", r.Type, p.Key)
	}
	u := s.Upper.copy()
	if err := u.takeAll(p.Changes, r); err != nil {
		return err
	}
	s.Upper = u
	s.endIntent(p.Key)
	if intent.Upstream != "" {
		s.Work = maps.Clone(s.Work)
		if s.Work == nil {
			s.Work = map[RepoPath]Work{}
		}
		s.Work[intent.Repo] = Work{Branch: intent.Branch, Upstream: intent.Upstream, Commit: p.Commit}
	}
	return nil
}

func (s *State) endIntent(key string) {
	s.Intents = maps.Clone(s.Intents)
	delete(s.Intents, key)
}
