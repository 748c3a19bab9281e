package workspace

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// reducerVersion changes when the reducer does, so that states which an older
// one saved are not taken up.
const reducerVersion = 1

// Bounds on what a state remembers.
const (
	maxKeys        = 1000 // idempotency keys of a workspace
	maxDiagnostics = 100  // skipped records of a workspace
)

// State is what a workspace's records add up to. It is immutable: Reduce
// returns another.
type State struct {
	Seq        Seq // of the last record that was taken in
	Born       bool
	BornAt     time.Time
	Digest     string // of the request that it was born with
	Deleted    bool
	Deviations map[Path]Deviation
	Upper      *Upper
	// Work is the work branch that the workspace has in a repo.
	Work map[RepoPath]Work
	// Intents are the commits that have begun and of which no end is recorded.
	Intents map[string]Committing
	// Unread is the seq of the first record that only a newer version of Carrel
	// understands; 0 if there is none.
	Unread      Seq
	Diagnostics []Diagnostic

	answers map[string]Answer
	order   []string // the keys of answers, the oldest first
}

// Work is a workspace's branch in a repo and its last commit there.
type Work struct {
	Branch   string `json:"branch"`
	Upstream string `json:"upstream"` // the branch that it started from
	Commit   OID    `json:"commit"`
}

// Answer is what was answered to a request that carried an idempotency key.
type Answer struct {
	Request string          `json:"request"`
	Result  json.RawMessage `json:"result,omitempty"`
	Seq     Seq             `json:"seq"`
}

// Diagnostic says why a record was skipped.
type Diagnostic struct {
	Stream string `json:"stream"`
	Seq    Seq    `json:"seq"`
	Why    string `json:"why"`
}

// NewState is the state of a stream without records.
func NewState() *State { return &State{Upper: &Upper{}} }

// Answer returns what was answered under an idempotency key.
func (s *State) Answer(key string) (Answer, bool) {
	a, ok := s.answers[key]
	return a, ok
}

// remember keeps the answer to a keyed request; a state that grew beyond
// maxKeys forgets the oldest.
func (s *State) remember(r Record) {
	if r.Key == "" {
		return
	}
	s.answers = maps.Clone(s.answers)
	if s.answers == nil {
		s.answers = map[string]Answer{}
	}
	if _, again := s.answers[r.Key]; !again {
		s.order = append(slices.Clip(s.order), r.Key)
	}
	s.answers[r.Key] = Answer{Request: r.Request, Result: r.Result, Seq: r.Seq}
	if len(s.order) > maxKeys {
		delete(s.answers, s.order[0])
		s.order = slices.Clone(s.order[1:])
	}
}

// diagnose notes that a record was skipped.
func (s *State) diagnose(r Record, why string) {
	if len(s.Diagnostics) < maxDiagnostics {
		s.Diagnostics = append(slices.Clip(s.Diagnostics), Diagnostic{r.Stream.Name, r.Seq, why})
	}
}

// stateJSON is the form in which a checkpoint keeps a State.
type stateJSON struct {
	Seq         Seq                   `json:"seq"`
	Born        bool                  `json:"born"`
	BornAt      time.Time             `json:"bornAt"`
	Digest      string                `json:"digest,omitempty"`
	Deleted     bool                  `json:"deleted,omitempty"`
	Deviations  map[Path]Deviation    `json:"deviations,omitempty"`
	Upper       []PathChange          `json:"upper,omitempty"`
	Work        map[RepoPath]Work     `json:"work,omitempty"`
	Intents     map[string]Committing `json:"intents,omitempty"`
	Diagnostics []Diagnostic          `json:"diagnostics,omitempty"`
	Answers     map[string]Answer     `json:"answers,omitempty"`
	Order       []string              `json:"order,omitempty"`
}

// MarshalJSON writes a checkpoint. An unread state has none.
func (s *State) MarshalJSON() ([]byte, error) {
	if s.Unread != 0 {
		return nil, Errorf(Unavailable, "a state that is unread at seq %d has no checkpoint", s.Unread)
	}
	j := stateJSON{
		Seq: s.Seq, Born: s.Born, BornAt: s.BornAt, Digest: s.Digest, Deleted: s.Deleted, Deviations: s.Deviations,
		Work: s.Work, Intents: s.Intents, Diagnostics: s.Diagnostics, Answers: s.answers, Order: s.order,
	}
	for p, e := range s.Upper.Within(Root) {
		j.Upper = append(j.Upper, PathChange{Path: p, After: &e})
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads a checkpoint.
func (s *State) UnmarshalJSON(b []byte) error {
	var j stateJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*s = State{
		Seq: j.Seq, Born: j.Born, BornAt: j.BornAt, Digest: j.Digest, Deleted: j.Deleted, Deviations: j.Deviations,
		Upper: &Upper{}, Work: j.Work, Intents: j.Intents, Diagnostics: j.Diagnostics, answers: j.Answers, order: j.Order,
	}
	for _, c := range j.Upper {
		if c.After == nil {
			return Errorf(Corrupt, "checkpoint without an entry").At(c.Path.String())
		}
		s.Upper.set(c.Path, *c.After)
	}
	return nil
}
