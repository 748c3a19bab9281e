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
func Reduce(s *State, r Record) *State {
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
	if err := next.take(r); err != nil {
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

// take changes s, which nobody else has seen yet, by one record.
func (s *State) take(r Record) error {
	if !s.Born && r.Type != WorkspaceCreated {
		return Errorf(Invalid, "%s before the workspace was created", r.Type)
	}
	switch r.Type {
	case WorkspaceCreated:
		return s.takeCreated(r)
	case WorkspaceConfigured:
		return s.takeConfigured(r)
	case WorkspaceChanged:
		return s.takeChanged(r)
	case WorkspaceCommitting:
		return s.takeCommitting(r)
	case WorkspaceCommitted:
		return s.takeCommitted(r)
	case WorkspaceCommitDrop:
		p, err := decode[CommitDropped](r)
		if err != nil {
			return err
		}
		s.endIntent(p.Key)
	case WorkspaceDeleted:
		s.Deleted = true
	}
	return nil
}

// decode reads a record's payload.
func decode[T any](r Record) (T, error) {
	var p T
	if err := json.Unmarshal(r.Payload, &p); err != nil {
		return p, Errorf(Invalid, "malformed %s: %w", r.Type, err)
	}
	return p, nil
}

func (s *State) takeCreated(r Record) error {
	p, err := decode[Created](r)
	if err != nil || s.Born {
		return err // a second birth says nothing new
	}
	s.Born, s.BornAt, s.Digest = true, r.At, p.Digest
	return nil
}

func (s *State) takeConfigured(r Record) error {
	p, err := decode[Configured](r)
	if err != nil {
		return err
	}
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

func (s *State) takeChanged(r Record) error {
	p, err := decode[Changed](r)
	if err != nil {
		return err
	}
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

func (s *State) takeCommitting(r Record) error {
	p, err := decode[Committing](r)
	if err != nil {
		return err
	}
	s.Intents = maps.Clone(s.Intents)
	if s.Intents == nil {
		s.Intents = map[string]Committing{}
	}
	s.Intents[p.Key] = p
	return nil
}

func (s *State) takeCommitted(r Record) error {
	p, err := decode[Committed](r)
	if err != nil {
		return err
	}
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
