package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"carrel.dev/workspace"
	gocmp "github.com/google/go-cmp/cmp"
)

const big = 1 << 30

// numbered returns lines that say their number.
func numbered(from, to int) string {
	var w strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&w, "line %d\n", i)
	}
	return w.String()
}

// TestAsGit holds the text against that of git diff, byte for byte.
func TestAsGit(t *testing.T) {
	o := newOracle(t)
	goOld := "package p\n\nfunc a() {\n\tx := 1\n\tuse(x)\n}\n\nfunc c() {\n\ty := 2\n\tuse(y)\n}\n"
	for name, tc := range map[string]struct {
		old, new tree
		context  int
	}{
		"modified":             {old: files("a", "1\n2\n3\n"), new: files("a", "1\nx\n3\n")},
		"added":                {new: files("a", "1\n2\n")},
		"deleted":              {old: files("a", "1\n2\n")},
		"added one line":       {new: files("a", "1\n")},
		"empty added":          {new: files("a", "")},
		"empty deleted":        {old: files("a", "")},
		"emptied":              {old: files("a", "1\n"), new: files("a", "")},
		"filled":               {old: files("a", ""), new: files("a", "1\n")},
		"newline added":        {old: files("a", "1\n2"), new: files("a", "1\n2\n")},
		"newline removed":      {old: files("a", "1\n2\n"), new: files("a", "1\n2")},
		"newline lacks":        {old: files("a", "1\n2"), new: files("a", "x\n2")},
		"newline lacks both":   {old: files("a", "1\n2"), new: files("a", "1\n3")},
		"A1 CRLF":              {old: files("a", "a\r\nb\r\nc\r\n"), new: files("a", "a\r\nX\r\nc\r\n")},
		"CRLF to LF":           {old: files("a", "a\r\nb\r\n"), new: files("a", "a\nb\n")},
		"two hunks":            {old: files("a", numbered(1, 30)), new: files("a", "x\n"+numbered(2, 29)+"y\n")},
		"hunks joined":         {old: files("a", numbered(1, 9)), new: files("a", numbered(1, 1)+"x\n"+numbered(3, 8)+"y\n")},
		"hunks apart":          {old: files("a", numbered(1, 10)), new: files("a", numbered(1, 1)+"x\n"+numbered(3, 9)+"y\n")},
		"no context":           {old: files("a", numbered(1, 9)), new: files("a", numbered(1, 3)+"x\n"+numbered(5, 9)), context: -1},
		"no context, deletion": {old: files("a", numbered(1, 9)), new: files("a", numbered(1, 3)+numbered(5, 9)), context: -1},
		"wide context":         {old: files("a", numbered(1, 90)), new: files("a", numbered(1, 40)+numbered(42, 90)), context: 25},
		"very wide context":    {old: files("a", numbered(1, 900)), new: files("a", numbered(1, 440)+numbered(442, 900)), context: 400},
		"all of the context":   {old: files("a", numbered(1, 900)), new: files("a", numbered(1, 440)+numbered(442, 900)), context: 1 << 30},
		"long way down":        {old: files("a", numbered(1, 900)), new: files("a", numbered(1, 800)+"x\n"+numbered(802, 900))},
		"heading":              {old: files("a.go", goOld), new: files("a.go", strings.Replace(goOld, "use(y)", "drop(y)", 1)), context: 1},
		"heading far above":    {old: files("a", "func f\n"+strings.Repeat(" x\n", 600)+" y\n"), new: files("a", "func f\n"+strings.Repeat(" x\n", 600)+" z\n")},
		"heading kept":         {old: files("a", "func f\n"+strings.Repeat(" x\n y\n", 20)), new: files("a", "func f\n"+strings.Repeat(" x\n y\n", 5)+" n\n"+strings.Repeat(" x\n y\n", 10)+" m\n"+strings.Repeat(" x\n y\n", 5)), context: 1},
		"heading is long":      {old: files("a", strings.Repeat("word ", 30)+"\n 1\n 2\n 3\n 4\n 5\n"), new: files("a", strings.Repeat("word ", 30)+"\n 1\n 2\n 3\n 4\n 6\n"), context: 1},
		"function added":       {old: files("a.go", goOld), new: files("a.go", strings.Replace(goOld, "func c", "func b() {\n\tz := 3\n\tuse(z)\n}\n\nfunc c", 1))},
		"function removed":     {old: files("a.go", strings.Replace(goOld, "func c", "func b() {\n\tz := 3\n\tuse(z)\n}\n\nfunc c", 1)), new: files("a.go", goOld)},
		"function appended":    {old: files("a.go", goOld), new: files("a.go", goOld+"\nfunc d() {\n\tw := 3\n\tuse(w)\n}\n")},
		"executable":           {old: files("a", "1\n"), new: tree{"a": {workspace.ModeExecutable, "1\n"}}},
		"executable, modified": {old: files("a", "1\n"), new: tree{"a": {workspace.ModeExecutable, "2\n"}}},
		"symlink":              {old: tree{"a": {workspace.ModeSymlink, "b"}}, new: tree{"a": {workspace.ModeSymlink, "c"}}},
		"file to symlink":      {old: files("a", "1\n2\n"), new: tree{"a": {workspace.ModeSymlink, "c"}}},
		"symlink to file":      {old: tree{"a": {workspace.ModeSymlink, "b"}}, new: files("a", "1\n2\n")},
		"file to directory":    {old: files("a", "1\n2\n"), new: files("a/b", "x\n")},
		"directory to file":    {old: files("a/b", "1\n2\n"), new: files("a", "x\n")},
		"binary":               {old: files("a", "1\x00"), new: files("a", "2\x00", "b b", "\x00")},
		"binary deleted":       {old: files("a", "1\x00")},
		"odd names":            {old: files("a b", "1\n", "é", "1\n", "t\tq\"b\\", "1\n", "\x01\x7f", "\n"), new: files("a b", "2\n", "é", "2\n", "t\tq\"b\\", "2\n", "\x01\x7f", "x\n")},
		"odd names added":      {new: files("a b", "1\n", "é", "", "x\ny", "1\n", "日本 語", "1\n")},
		"latin-1":              {old: files("a", "caf\xe9\nx\n"), new: files("a", "caf\xe9\ny\n")},
		"sorted by path":       {old: files("b", "1\n", "a-b", "1\n", "a/b", "1\n", "aa", "1\n"), new: files("b", "2\n", "a-b", "2\n", "a/b", "2\n", "aa", "2\n")},
		"renamed":              {old: files("a", numbered(1, 9)), new: files("b", numbered(1, 9))},
		"renamed, executable":  {old: files("a", numbered(1, 9)), new: tree{"b": {workspace.ModeExecutable, numbered(1, 9)}}},
		"renamed, modified":    {old: files("a", numbered(1, 9)), new: files("b c", numbered(1, 8)+"x\n")},
		"rename of odd names":  {old: files("é \"", numbered(1, 9)), new: files("t\tb", numbered(1, 8)+"x\n")},
		"renamed binary":       {old: files("a", "\x00"+numbered(1, 9)), new: files("b", "\x00"+numbered(1, 8))},
		"renamed symlink":      {old: tree{"a": {workspace.ModeSymlink, "t"}}, new: tree{"b": {workspace.ModeSymlink, "t"}}},
		"renamed empty":        {old: files("a", ""), new: files("b", "")},
		"too different":        {old: files("a", numbered(1, 9)), new: files("b", numbered(6, 14))},
		"half the same":        {old: files("a", numbered(11, 20)), new: files("b", numbered(16, 25))},
		"rename by name":       {old: files("x/a", numbered(1, 20), "x/b", numbered(1, 20)), new: files("y/b", numbered(1, 19), "y/a", numbered(1, 18))},
		"same content, name":   {old: files("x/a", numbered(1, 9), "x/b", numbered(1, 9)), new: files("y/b", numbered(1, 9), "y/c", numbered(1, 9))},
		"C7 directory renamed": {
			old: files("src/client/a.go", numbered(1, 30), "src/client/sub/b.go", numbered(31, 60), "src/client/c.go", numbered(61, 90)),
			new: files("src/client2/a.go", numbered(1, 30), "src/client2/sub/b.go", numbered(31, 59)+"x\n", "src/client2/c.go", "y\n"+numbered(61, 90)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := o.write(tc.old), o.write(tc.new)
			around := max(cmp.Or(tc.context, 3), 0)
			want := o.git("", "diff", "--abbrev=10", "-M", fmt.Sprintf("-U%d", around), from, to)
			got := unified(t, tc.old, tc.new, &Options{Context: tc.context})
			if diff := gocmp.Diff(want, got.Text); diff != "" {
				t.Errorf("(-git +got):\n%s", diff)
			}
			if got.Truncated {
				t.Error("truncated")
			}
		})
	}
}

func TestIdentical(t *testing.T) {
	got := unified(t, files("a", "1\n", "b", "2\n"), files("a", "1\n", "b", "2\n"), nil)
	if diff := gocmp.Diff(&Result{}, got); diff != "" {
		t.Errorf("SH-12 (-want +got):\n%s", diff)
	}
	dir := &Side{Path: "d", Mode: workspace.ModeDir}
	got, err := Unified(t.Context(), []Change{{New: dir}, {Old: dir}, {}}, nil)
	if err != nil || got.Text != "" || len(got.Files) != 0 {
		t.Errorf("directories: got %+v, %v", got, err)
	}
}

func TestSubmodule(t *testing.T) {
	at := func(path string, b byte) *Side {
		return &Side{Path: path, Mode: workspace.ModeSubmodule, OID: workspace.OID{b}}
	}
	got, err := Unified(t.Context(), []Change{{at("m", 1), at("m", 2)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const zeros = "00000000000000000000000000000000000000"
	want := "diff --git a/m b/m\nindex 0100000000..0200000000 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n" +
		"-Subproject commit 01" + zeros + "\n+Subproject commit 02" + zeros + "\n"
	if diff := gocmp.Diff(want, got.Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFiles(t *testing.T) {
	old := files("mod", "1\n2\n3\n", "gone", "1\n", "type", "1\n2\n", "from", numbered(10, 20), "bin", "\x00a")
	new := files("mod", "1\nx\ny\n3\n", "new", "a\nb", "to", numbered(10, 21), "bin", "\x00b")
	new["type"] = entry{workspace.ModeSymlink, "t"}
	want := []File{
		{Path: "bin", Change: Modified, Binary: true},
		{Path: "gone", Change: Deleted, Deletions: 1},
		{Path: "mod", Change: Modified, Insertions: 2, Deletions: 1},
		{Path: "new", Change: Added, Insertions: 2},
		{Path: "to", From: "from", Change: Renamed, Insertions: 1},
		{Path: "type", Change: TypeChange, Insertions: 1, Deletions: 2},
	}
	if diff := gocmp.Diff(want, unified(t, old, new, nil).Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKnownRename(t *testing.T) {
	a, b := entry{workspace.ModeFile, numbered(1, 4)}, entry{workspace.ModeFile, numbered(5, 9)}
	got, err := Unified(t.Context(), []Change{{a.side(t, "/w/a"), b.side(t, "/w/b")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "diff --git a/w/a b/w/b\nsimilarity index 0%\nrename from w/a\nrename to w/b\n"
	if !strings.HasPrefix(got.Text, want) || got.Files[0].From != "/w/a" || got.Files[0].Change != Renamed {
		t.Errorf("got %s %+v, want the start %s", got.Text, got.Files, want)
	}
}

func TestReadError(t *testing.T) {
	side := files("a", "1\n")["a"].side(t, "a")
	errRead := errors.New("unreadable")
	failing := func(context.Context) ([]byte, error) { return nil, errRead }
	bad := &Side{Path: "a", Mode: workspace.ModeFile, OID: workspace.OID{1}, Read: failing}
	elsewhere := *bad
	elsewhere.Path = "b"
	for name, c := range map[string][]Change{
		"shown":  {{side, bad}},
		"rename": {{Old: side}, {New: &elsewhere}},
	} {
		if _, err := Unified(t.Context(), c, nil); err != errRead {
			t.Errorf("%s: got error %v, want %v", name, err, errRead)
		}
	}
}

// randomText makes a text of few different lines, so that much repeats.
func randomText(r *rand.Rand, lines int) string {
	var w strings.Builder
	eol := []string{"\n", "\n", "\r\n"}[r.IntN(3)]
	for range lines {
		w.WriteString([]string{"", "a", "b", "c", "\td", "}", "-- x", "++ y", "@@ -1 +1 @@", "é"}[r.IntN(10)])
		if r.IntN(12) == 0 {
			eol = []string{"\n", "\r\n"}[r.IntN(2)]
		}
		w.WriteString(eol)
	}
	s := w.String()
	if r.IntN(4) == 0 {
		s = strings.TrimRight(s, "\r\n")
	}
	return s
}

// edited changes some lines of a text.
func edited(r *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range 1 + r.IntN(6) {
		i := r.IntN(len(lines))
		switch r.IntN(4) {
		case 0:
			lines[i] = randomText(r, 1)
		case 1:
			lines[i] += randomText(r, 1+r.IntN(5))
		case 2:
			lines[i] = ""
		case 3:
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		}
	}
	return strings.Join(lines, "")
}

// randomTrees makes two trees between which everything may happen.
func randomTrees(r *rand.Rand) (old, new tree) {
	old, new = tree{}, tree{}
	modes := []workspace.Mode{workspace.ModeFile, workspace.ModeFile, workspace.ModeExecutable}
	for i := range 40 {
		path := fmt.Sprintf("%s%d", []string{"a", "d/b", "sp ace ", "é", "q\"\\", "t\t", "-", "d d/c"}[r.IntN(8)], i)
		e := entry{modes[r.IntN(3)], randomText(r, r.IntN(60))}
		f := entry{modes[r.IntN(3)], edited(r, e.content)}
		switch r.IntN(9) {
		case 0:
			new[path] = e
		case 1:
			old[path] = e
		case 2:
			old[path] = entry{workspace.ModeSymlink, "target"}
			new[path] = e
		case 3:
			old[path], new["renamed/"+path] = e, f
		case 4:
			old[path], new[path] = e, entry{f.mode, randomText(r, r.IntN(60))}
		default:
			old[path], new[path] = e, f
		}
	}
	return old, new
}

// TestApply holds the text against git apply, and the numbers against git.
func TestApply(t *testing.T) {
	o := newOracle(t)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		old, new := randomTrees(r)
		from, to := o.write(old), o.write(new)
		got := unified(t, old, new, &Options{MaxBytes: big, Context: 1 + r.IntN(5)})
		if made := o.apply(from, got.Text); made != to {
			t.Fatalf("seed %d: git apply makes another tree:\n%s\n%s", seed, o.git("", "diff", to, made), got.Text)
		}
		// Ties between renames may be broken in another way, so numbers are
		// compared where there is none.
		for path := range new {
			if _, ok := old[path]; !ok {
				delete(new, path)
			}
		}
		got = unified(t, old, new, &Options{MaxBytes: big})
		want := o.git("", "diff", "--minimal", "--numstat", from, o.write(new))
		if diff := gocmp.Diff(want, numstat(got)); diff != "" {
			t.Fatalf("seed %d: numbers (-git +got):\n%s", seed, diff)
		}
	}
}

// TestRenamesAsGit compares renames of distinguishable contents, with their scores.
func TestRenamesAsGit(t *testing.T) {
	o := newOracle(t)
	renames := 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 2))
		old, new := tree{}, tree{}
		for i := range 30 {
			var lines []string
			for range 5 + r.IntN(40) {
				lines = append(lines, strings.Repeat(fmt.Sprint("w", r.IntN(1_000_000), " "), 1+r.IntN(15)))
			}
			old[fmt.Sprintf("old%d/f%d", r.IntN(3), i)] = entry{workspace.ModeFile, strings.Join(lines, "\n") + "\n"}
			for range r.IntN(len(lines)) {
				lines[r.IntN(len(lines))] = fmt.Sprint("edit", r.IntN(1_000_000))
			}
			new[fmt.Sprintf("new%d/%s%d", r.IntN(3), []string{"f", "g"}[r.IntN(2)], i)] = entry{workspace.ModeFile, strings.Join(lines, "\r\n")}
		}
		got := unified(t, old, new, &Options{MaxBytes: big})
		want := o.git("", "diff", "--minimal", "--abbrev=10", "-M", o.write(old), o.write(new))
		if diff := gocmp.Diff(headers(want), headers(got.Text)); diff != "" {
			t.Fatalf("seed %d: (-git +got):\n%s", seed, diff)
		}
		renames += strings.Count(got.Text, "\nrename to ")
	}
	if renames < 60 {
		t.Errorf("only %d renames", renames)
	}
}

// headers returns what a diff says about files.
func headers(text string) []string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.ContainsAny(line[:1], " +-@\\") {
			kept = append(kept, line)
		}
	}
	return kept
}
