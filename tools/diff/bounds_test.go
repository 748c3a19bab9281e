package diff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

// letters returns lines of one of a few letters each.
func letters(r *rand.Rand, lines, alphabet int) string {
	var w strings.Builder
	for range lines {
		w.WriteByte('a' + byte(r.IntN(alphabet)))
		w.WriteByte('\n')
	}
	return w.String()
}

// shuffled returns numbered lines in a random order.
func shuffled(r *rand.Rand, n int) string {
	lines := strings.SplitAfter(numbered(1, n), "\n")
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return strings.Join(lines, "")
}

// hostile are pairs of contents that are hard to compare, of about n lines.
func hostile(n int) map[string][2]string {
	r := rand.New(rand.NewPCG(1, 1))
	return map[string][2]string{
		"two letters":     {letters(r, n, 2), letters(r, n, 2)},
		"many letters":    {letters(r, n, 26), letters(r, n, 26)},
		"shuffled":        {shuffled(r, n), shuffled(r, n)},
		"all lines apart": {numbered(1, n), numbered(n+1, 2*n)},
		"empty lines":     {strings.Repeat("\n", 9*n) + "x\n", strings.Repeat("\n\n \n", 6*n) + "y\n"},
		"one long line":   {strings.Repeat("x", 100*n), strings.Repeat("x", 100*n) + "y"},
		"long prefix":     {numbered(1, 5*n) + "x\n", numbered(1, 5*n) + "y\n"},
		"repeated block":  {strings.Repeat("a\nb\nc\n", n), strings.Repeat("a\nb\nc\n", n+1)},
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, pair := range hostile(300_000) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var old, new Side
				old = Side{Path: "a", Mode: workspace.ModeFile, Read: func(context.Context) ([]byte, error) { return []byte(pair[0]), nil }}
				new = Side{Path: "a", Mode: workspace.ModeFile, OID: workspace.OID{1}, Read: func(context.Context) ([]byte, error) { return []byte(pair[1]), nil }}
				if _, err := Unified(b.Context(), []Change{{&old, &new}}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// check reports how a comparison fails to lead from one text to the other.
func (c *comparison) check(a, b string) error {
	if c.old.list == nil && c.new.list == nil {
		if c.insertions+c.deletions > maxChangedLines || a == b {
			return nil
		}
	}
	if got := string(c.old.before) + strings.Join(c.old.list, ""); !strings.HasPrefix(a, got) {
		return fmt.Errorf("the old lines are %q", got)
	}
	var w strings.Builder
	w.WriteString(string(c.old.before))
	at, newAt := 0, 0
	for _, r := range c.regions {
		if r.a0 < at || r.b0-newAt != r.a0-at || r.a0 == r.a1 && r.b0 == r.b1 {
			return fmt.Errorf("region %v follows old line %d and new line %d", r, at, newAt)
		}
		for _, line := range c.old.list[at:r.a0] {
			w.WriteString(line)
		}
		for _, line := range c.new.list[r.b0:r.b1] {
			w.WriteString(line)
		}
		at, newAt = r.a1, r.b1
	}
	for _, line := range c.old.list[at:] {
		w.WriteString(line)
	}
	w.WriteString(a[len(c.old.before)+len(strings.Join(c.old.list, "")):])
	if w.String() != b {
		return fmt.Errorf("%v make %q", c.regions, w.String())
	}
	return nil
}

// lcs returns the length of the longest common subsequence, by the textbook.
func lcs(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func TestSmallestDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 1_000 {
		a := letters(r, r.IntN(40), 1+r.IntN(5))
		b := letters(r, r.IntN(40), 1+r.IntN(5))
		c := compare([]byte(a), []byte(b), 3, newWork())
		if err := c.check(a, b); err != nil {
			t.Fatalf("%q to %q: %v", a, b, err)
		}
		common := lcs(strings.Fields(a), strings.Fields(b))
		if got, want := [2]int{c.deletions, c.insertions}, [2]int{len(a)/2 - common, len(b)/2 - common}; got != want {
			t.Fatalf("%q to %q: got %v lines removed and inserted, want %v", a, b, got, want)
		}
		if c.coarse {
			t.Fatalf("%q to %q: coarse", a, b)
		}
	}
}

func TestCutSearchIsCorrect(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	cut := 0
	for range 300 {
		a, b := letters(r, 100+r.IntN(900), 6), letters(r, 100+r.IntN(900), 6)
		if r.IntN(2) == 0 {
			b = edited(r, a)
		}
		c := compare([]byte(a), []byte(b), 3, &work{steps: r.IntN(3_000), lines: 1_500})
		if err := c.check(a, b); err != nil {
			t.Fatalf("%q to %q: %v", a, b, err)
		}
		if c.coarse {
			cut++
		}
	}
	if cut < 50 {
		t.Errorf("only %d searches were cut", cut)
	}
	// Far more edits than the cutoff, so that the search goes on from where it is best.
	a, b := letters(r, 4_000, 12), letters(r, 4_000, 12)
	c := compare([]byte(a), []byte(b), 3, newWork())
	if err := c.check(a, b); err != nil || c.coarse {
		t.Errorf("got coarse %v, error %v", c.coarse, err)
	}
	if most := 4_000; c.deletions > most*3/4 {
		t.Errorf("%d of %d lines removed, which is far from the smallest difference", c.deletions, most)
	}
}

func TestHostile(t *testing.T) {
	for name, pair := range hostile(12_000) {
		c := compare([]byte(pair[0]), []byte(pair[1]), 3, newWork())
		if err := c.check(pair[0], pair[1]); err != nil {
			t.Errorf("%s: wrong difference", name)
		}
		grown := strings.Count(pair[1], "\n") - strings.Count(pair[0], "\n")
		if name != "one long line" && c.insertions-c.deletions != grown {
			t.Errorf("%s: %d lines inserted and %d removed, but it grew by %d", name, c.insertions, c.deletions, grown)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\n")
	f.Add("\n\n\n", "\n\n")
	f.Add("x\ny\nx\ny\n", "y\nx\ny\nx")
	f.Fuzz(func(t *testing.T, a, b string) {
		if err := compare([]byte(a), []byte(b), 3, newWork()).check(a, b); err != nil {
			t.Error(err)
		}
		if err := compare([]byte(a), []byte(b), 3, &work{steps: 5, lines: 20}).check(a, b); err != nil {
			t.Errorf("cut: %v", err)
		}
	})
}

func TestMaxBytes(t *testing.T) {
	o := newOracle(t)
	old, new := tree{}, tree{}
	for i := range 30 {
		path := fmt.Sprintf("f%02d", i)
		text := numbered(i*1000, i*1000+100+i)
		old[path] = entry{workspace.ModeFile, text}
		text = strings.ReplaceAll(text, "5\n", "five\n")
		if i == 4 {
			text = strings.ReplaceAll(text, "\n", "!\n") // one hunk larger than some bounds
		}
		new[path] = entry{workspace.ModeFile, text}
	}
	from := o.write(old)
	o.write(new)
	whole := unified(t, old, new, &Options{MaxBytes: big, Context: 1})
	if whole.Truncated {
		t.Error("the whole text is truncated")
	}
	for _, limit := range []int{1, 800, 1_500, 3_000, 5_000, 10_000, 20_000, len(whole.Text) + noteRoom} {
		got := unified(t, old, new, &Options{MaxBytes: limit, Context: 1})
		if len(got.Text) > max(limit, noteRoom) {
			t.Errorf("limit %d: text of %d bytes", limit, len(got.Text))
		}
		if diff := cmp.Diff(whole.Files, got.Files); diff != "" {
			t.Errorf("limit %d: files (-whole +got):\n%s", limit, diff)
		}
		complete := got.Text == whole.Text
		if got.Truncated == complete {
			t.Errorf("limit %d: truncated is %v", limit, got.Truncated)
		}
		if left := strings.Count(whole.Text, "diff --git") - strings.Count(got.Text, "diff --git"); left > 0 &&
			!strings.Contains(got.Text, fmt.Sprintf("[%d more files changed", left)) {
			t.Errorf("limit %d: does not say that %d files are left out:\n%s", limit, left, got.Text)
		}
		// What is there of a file is whole hunks; git refuses one without any.
		sections := strings.SplitAfter(got.Text, "\ndiff --git")
		sections = slices.DeleteFunc(sections, func(s string) bool { return !strings.Contains(s, "@@") })
		if len(sections) > 0 {
			o.apply(from, "diff --git"+strings.TrimPrefix(strings.Join(sections, ""), "diff --git"))
		}
	}
	got := unified(t, old, new, &Options{MaxBytes: 5_500, Context: 1})
	for _, want := range []string{" 100644\n[1 of 1 hunks left out", "b/f05\n@@"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %q in:\n%s", want, got.Text)
		}
	}
}

func TestTooManyChangedLines(t *testing.T) {
	const note = "[10001 changed lines are more than 10000: hunks left out]\n"
	for _, tc := range []struct {
		name     string
		old, new tree
		want     File
	}{
		{"added", nil, files("a", numbered(1, 10_001)), File{Path: "a", Change: Added, Insertions: 10_001}},
		{"replaced", files("a", numbered(1, 5_000)), files("a", numbered(10_001, 15_001)), File{Path: "a", Change: Modified, Insertions: 5_001, Deletions: 5_000}},
	} {
		got := unified(t, tc.old, tc.new, &Options{MaxBytes: big})
		if !strings.HasSuffix(got.Text, note) || strings.Contains(got.Text, "@@") || !got.Truncated {
			t.Errorf("SH-12 %s: got %.300s", tc.name, got.Text)
		}
		if diff := cmp.Diff([]File{tc.want}, got.Files); diff != "" {
			t.Errorf("SH-12 %s: (-want +got):\n%s", tc.name, diff)
		}
	}
	if got := unified(t, nil, files("a", numbered(1, 10_000)), &Options{MaxBytes: big}); got.Truncated {
		t.Error("10,000 lines are truncated")
	}
}

func TestCoarseSaysSo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	o := newOracle(t)
	old, new := files("a", letters(r, 1_000, 3)), files("a", letters(r, 1_000, 3))
	from, to := o.write(old), o.write(new)
	d := &differ{context: 3, out: output{max: big}, work: &work{steps: 10_000, lines: 10_000, bytes: big}}
	if _, err := d.file(t.Context(), pair{Change: changes(t, old, new)[0]}); err != nil {
		t.Fatal(err)
	}
	text, truncated := d.out.finish(d.work)
	if !strings.Contains(text, "\n[not the smallest difference") || truncated {
		t.Errorf("truncated %v, or no note in %s", truncated, text)
	}
	if made := o.apply(from, text); made != to {
		t.Error("git apply makes another tree")
	}
}

func TestRenamesBounded(t *testing.T) {
	old, new := tree{}, tree{}
	for i := range maxCandidates + 1 {
		old[fmt.Sprintf("old/a%d", i)] = entry{workspace.ModeFile, fmt.Sprintf("%d\n%d\n", i, i)}
		new[fmt.Sprintf("new/b%d", i)] = entry{workspace.ModeFile, fmt.Sprintf("%d\nx\n", i)}
	}
	old["old/same"], new["new/other"] = files("", "same\n")[""], files("", "same\n")[""]
	old["old/name"], new["new/name"] = files("", numbered(1, 20))[""], files("", numbered(1, 19))[""]
	got := unified(t, old, new, nil)
	if !strings.Contains(got.Text, "\n[not all renames are found") {
		t.Errorf("no note in %s", got.Text)
	}
	renamed := slices.DeleteFunc(got.Files, func(f File) bool { return f.Change != Renamed })
	want := []File{
		{Path: "new/name", From: "old/name", Change: Renamed, Deletions: 1},
		{Path: "new/other", From: "old/same", Change: Renamed},
	}
	if diff := cmp.Diff(want, renamed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUncounted(t *testing.T) {
	const n = 200
	new := tree{}
	for i := range n {
		new[fmt.Sprintf("f%03d", i)] = entry{workspace.ModeFile, "x\n"}
	}
	d := &differ{out: output{max: big}, work: &work{bytes: 150 * smallRead}}
	var uncounted int
	for _, c := range changes(t, nil, new) {
		f, err := d.file(t.Context(), pair{Change: c})
		if err != nil {
			t.Fatal(err)
		}
		if f.Uncounted {
			uncounted++
		} else if f.Insertions != 1 {
			t.Errorf("%s: %d insertions", f.Path, f.Insertions)
		}
	}
	text, truncated := d.out.finish(d.work)
	if uncounted != 50 || !truncated || !strings.Contains(text, "[lines are not counted in 50 of them") {
		t.Errorf("%d files uncounted, truncated %v, in %s", uncounted, truncated, text[len(text)-300:])
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Unified(ctx, changes(t, nil, files("a", "1\n")), nil); workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("got %v, want kind canceled", err)
	}
}
