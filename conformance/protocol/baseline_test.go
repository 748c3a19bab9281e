package protocol

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// valid is the check that every reply is one by the protocol's schema. It is expected
// of whatever is asked.
const valid = "wire-schema-valid"

// baseline is what is known not to be passed: checks by target and scenario. Of a
// scenario without checks nothing is expected, save that replies are valid.
type baseline map[string]map[string][]string

// readBaseline reads baseline.txt.
func readBaseline(t *testing.T) baseline {
	t.Helper()
	b, err := os.ReadFile("baseline.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := baseline{}
	for _, target := range targets {
		known[target.name] = map[string][]string{}
	}
	reason := ""
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			reason = ""
		case words[0] == "#":
			reason = line // of what follows
		case len(words) < 2 || reason == "":
			t.Errorf("baseline.txt has %q, which is no TARGET SCENARIO CHECK… below a reason", line)
		default:
			for name := range strings.SplitSeq(words[0], ",") {
				of, ok := known[name]
				if _, twice := of[words[1]]; !ok || twice {
					t.Fatalf("baseline.txt has %q: no such target, or twice", line)
				}
				of[words[1]] = words[2:]
			}
		}
	}
	return known
}

// compare returns what is not passed and not known, and what is known and passed.
func (b baseline) compare(target string, found findings) (wrong []string) {
	for scenario, checks := range found {
		known, listed := b[target][scenario]
		whole := listed && len(known) == 0
		bad := map[string]bool{}
		for _, c := range checks {
			if c.good() {
				continue
			}
			bad[c.ID] = true
			if c.ID == valid || !whole && !slices.Contains(known, c.ID) {
				wrong = append(wrong, fmt.Sprintf("%s: %s is %s: %s", scenario, c.ID, c.Status, c.Message))
			}
		}
		if whole && len(bad) == 0 {
			wrong = append(wrong, scenario+" passes, and stands in baseline.txt")
		}
		for _, id := range known {
			if !bad[id] {
				wrong = append(wrong, fmt.Sprintf("%s: %s passes, and stands in baseline.txt", scenario, id))
			}
		}
	}
	return wrong
}

func TestCompare(t *testing.T) {
	known := baseline{"x": {"whole": nil, "part": {"b"}}}
	a, b := check{ID: "a", Status: "SUCCESS"}, check{ID: "b", Status: "FAILURE"}
	for name, tt := range map[string]struct {
		target string
		found  findings
		wrong  int
	}{
		"as known":          {"x", findings{"whole": {a, b}, "part": {a, b}, "other": {a, {ID: "c", Status: "INFO"}}}, 0},
		"a further failure": {"x", findings{"part": {b, {ID: "a", Status: "FAILURE"}}}, 1},
		"a warning":         {"x", findings{"other": {{ID: "a", Status: "WARNING"}}}, 1},
		"left out":          {"x", findings{"other": {{ID: "a", Status: "SKIPPED"}}}, 1},
		"no valid reply":    {"x", findings{"whole": {b, {ID: valid, Status: "FAILURE"}}}, 1},
		"passes as a whole": {"x", findings{"whole": {a}}, 1},
		"a part passes":     {"x", findings{"part": {a, {ID: "b", Status: "SUCCESS"}}}, 1},
		"a part is gone":    {"x", findings{"part": {a}}, 1},
		"of another target": {"y", findings{"whole": {b}}, 1},
	} {
		if wrong := known.compare(tt.target, tt.found); len(wrong) != tt.wrong {
			t.Errorf("%s: %q, want %d", name, wrong, tt.wrong)
		}
	}
}
