package textedit

import (
	"bytes"
	"strings"
	"testing"
)

// unit is a byte of a text, or a line ending of either kind, and where it stands.
type unit struct {
	text       string // "\n" for a line ending
	start, end int
}

// units reads a text unit by unit.
func units(s string) []unit {
	var all []unit
	for i := 0; i < len(s); {
		u := unit{s[i : i+1], i, i + 1}
		if strings.HasPrefix(s[i:], "\r\n") {
			u = unit{"\n", i, i + 2}
		}
		all = append(all, u)
		i = u.end
	}
	return all
}

// places finds an edit's old text unit by unit: where it is replaced, with All,
// and how many places there are if those that overlap count.
func places(content string, e Edit) (replaced [][2]int, found int) {
	skip := 0
	if strings.HasPrefix(content, bom) && !strings.HasPrefix(e.Old, bom) {
		skip = len(bom)
	}
	all, old := units(content), units(e.Old)
	free := 0
	for i := range all {
		if all[i].start < skip || i+len(old) > len(all) {
			continue
		}
		same := true
		for j := range old {
			same = same && all[i+j].text == old[j].text
		}
		if !same {
			continue
		}
		found++
		if i >= free {
			replaced = append(replaced, [2]int{all[i].start, all[i+len(old)-1].end})
			free = i + len(old)
		}
	}
	return replaced, found
}

// FuzzApplyMany holds edits against a search unit by unit: how many places there
// are, that the bytes outside of them are as they were, and that in each of them
// stands the new text, with some ending where it has one.
func FuzzApplyMany(f *testing.F) {
	f.Add("a\r\nb\nc\r\nb", "b", "B\nX", true)
	f.Add("\ufeffa\r\na\n\ufeffa", "a\n", "\ufeffb", true)
	f.Add("x\r\r\nx\r\r\nx", "\r\n", "\n\n", true)
	f.Add("aaaa\xff\x00aa", "aa", "", false)
	f.Add("one", "\none", "two", false)
	f.Fuzz(func(t *testing.T, content, old, replacement string, all bool) {
		if len(content)*len(old) > 1<<14 {
			return
		}
		e := Edit{Old: old, New: replacement, All: all}
		got, err := Apply([]byte(content), []Edit{e})
		if e.check() != nil {
			if err == nil {
				t.Errorf("%+v is applied", e)
			}
			return
		}
		spans, found := places(content, e)
		if err != nil {
			if found == 1 || all && found > 0 {
				if !strings.Contains(err.Error(), "nothing would change") {
					t.Errorf("%d places, and %v", found, err)
				}
			}
			return
		}
		if !all && found != 1 || got.Count != len(spans) {
			t.Fatalf("%d replaced, and there are %d places, %d with overlaps", got.Count, len(spans), found)
		}
		if !fits(string(got.Content), content, spans, replacement) {
			t.Errorf("%+v made %q of %q", e, got.Content, content)
		}
	})
}

// fits reports whether a result is the content with the replacement in each
// span, whatever kind its line endings have.
func fits(result, content string, spans [][2]int, replacement string) bool {
	copied := 0
	for _, s := range spans {
		var ok bool
		if result, ok = strings.CutPrefix(result, content[copied:s[0]]); !ok {
			return false
		}
		if s[0] == 0 && strings.HasPrefix(content, bom) { // the file's own stays
			result = strings.TrimPrefix(result, bom)
		}
		if result, ok = cutText(result, replacement, content[:s[0]] == bom || s[0] == 0 && strings.HasPrefix(content, bom)); !ok {
			return false
		}
		copied = s[1]
	}
	return result == content[copied:]
}

// cutText cuts a text from the front of a result. Carriage returns in front of a
// line ending, or at its end, may be there or not.
func cutText(result, text string, begins bool) (rest string, ok bool) {
	if begins {
		text = strings.TrimPrefix(text, bom)
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			result = strings.TrimLeft(result, "\r")
			if result, ok = strings.CutPrefix(result, "\n"); !ok {
				return "", false
			}
		}
		if result, ok = strings.CutPrefix(result, strings.TrimRight(line, "\r")); !ok {
			return "", false
		}
		for range len(line) - len(strings.TrimRight(line, "\r")) {
			result = strings.TrimPrefix(result, "\r")
		}
	}
	return result, true
}

// FuzzApplyInTurn holds several edits against the same ones in calls of their
// own.
func FuzzApplyInTurn(f *testing.F) {
	f.Add("one two\r\n", "one", "two", "two two", "three", true)
	f.Add("a\nb\n", "a", "b", "b", "", true)
	f.Add("a\nb\n", "a", "c", "a", "d", false)
	f.Fuzz(func(t *testing.T, content, old1, new1, old2, new2 string, all bool) {
		edits := []Edit{{Old: old1, New: new1, All: all}, {Old: old2, New: new2, All: all}}
		got, err := Apply([]byte(content), edits)
		want := Result{Content: []byte(content)}
		var stepErr error
		for _, e := range edits {
			var next Result
			if next, stepErr = Apply(want.Content, []Edit{e}); stepErr != nil {
				break
			}
			want = Result{next.Content, want.Count + next.Count}
		}
		if edits[1].check() != nil && edits[0].check() == nil {
			stepErr = edits[1].check() // all are checked before any is applied
		}
		if (err != nil) != (stepErr != nil) {
			t.Fatalf("together %v, in turn %v", err, stepErr)
		}
		if err == nil && (!bytes.Equal(got.Content, want.Content) || got.Count != want.Count) {
			t.Errorf("together %q, %d, in turn %q, %d", got.Content, got.Count, want.Content, want.Count)
		}
	})
}
