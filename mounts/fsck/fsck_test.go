package fsck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/mounts/object"
	"carrel.dev/workspace"
)

// judge writes objects into a repository and returns what git fsck says about
// each.
type judge struct {
	git     *gittest.Repo
	pool    *object.Pool
	objects []object.Pending
	ids     map[string]workspace.OID // by label
}

func newJudge(t testing.TB) *judge {
	return &judge{git: gittest.Init(t), pool: object.NewPool(0, 0), ids: map[string]workspace.OID{}}
}

// add notes an object, whatever its content.
func (j *judge) add(label string, typ object.Type, content []byte) workspace.OID {
	id, err := j.pool.ID(typ, content)
	if err != nil {
		j.git.T.Fatal(err)
	}
	j.objects = append(j.objects, object.Pending{ID: id, Type: typ, Content: func(context.Context) ([]byte, error) { return content, nil }})
	j.ids[label] = id
	return id
}

// verdicts returns what git fsck calls the first fault of each label's object.
func (j *judge) verdicts() map[string]string {
	fine := func() error { return nil }
	_, err := object.Open(filepath.Join(j.git.Dir, ".git", "objects"), j.pool).Write(context.Background(), j.objects, &object.Writer{
		Share: func(string) error { return nil }, Written: fine, Named: fine, Stopped: func(error) bool { return false },
	})
	if err != nil {
		j.git.T.Fatal(err)
	}
	faults := map[string]string{}
	for line := range strings.SplitSeq(j.git.FsckOutput(), "\n") {
		f := strings.Fields(line) // error in tree ID: fault: text
		if len(f) >= 5 && f[1] == "in" {
			faults[strings.TrimSuffix(f[3], ":")] = strings.TrimSuffix(f[4], ":")
		}
	}
	byLabel := map[string]string{}
	for label, id := range j.ids {
		byLabel[label] = faults[id.String()]
	}
	return byLabel
}

// agree compares a verdict of this package with git's.
func agree(t *testing.T, label string, err error, git string) {
	t.Helper()
	if err != nil && !errors.Is(err, workspace.Invalid) {
		t.Errorf("%q: %v is not invalid", label, err)
	}
	if (err != nil) != (git != "") {
		t.Errorf("%q: got %v, git says %q", label, err, git)
	}
}

func TestEntriesAsGit(t *testing.T) {
	j := newJudge(t)
	blob := j.add("blob", object.TypeBlob, []byte("x"))
	tree := j.add("tree", object.TypeTree, nil)
	commit := j.add("commit", object.TypeCommit, object.EncodeCommit(&object.Commit{
		Tree: tree, Author: workspace.Signature{Name: "a", Email: "b"}, Committer: workspace.Signature{Name: "a", Email: "b"},
		CommitTime: time.Unix(1, 0), AuthorTime: time.Unix(1, 0),
	}))
	ids := map[workspace.NodeKind]workspace.OID{
		workspace.File: blob, workspace.Symlink: blob, workspace.Dir: tree, workspace.Submodule: commit,
	}
	got := map[string]error{}
	try := func(name string, mode workspace.Mode, id workspace.OID) {
		label := fmt.Sprintf("%o %s %s", mode, name, id.Short())
		n := workspace.Node{Mode: mode, OID: id}
		got[label] = Entry(name, n)
		if mode == workspace.ModeDir { // git blames the directory itself: each needs one of its own
			own := object.NewEntry(fmt.Sprintf("own %x", name), workspace.Node{Mode: workspace.ModeFile, OID: blob})
			n.OID = j.add(label+" itself", object.TypeTree, object.EncodeTree([]object.Entry{own}))
		}
		j.add(label, object.TypeTree, object.EncodeTree([]object.Entry{object.NewEntry(name, n)}))
	}
	for _, name := range names() {
		for _, mode := range []workspace.Mode{workspace.ModeFile, workspace.ModeSymlink, workspace.ModeDir} {
			try(name, mode, ids[mode.Kind()])
		}
	}
	for _, mode := range []workspace.Mode{0o100755, 0o100664, 0o100600, 0o100000, 0o120777, 0o160000, 0o40755} {
		try("a", mode, ids[mode.Kind()])
	}
	try("a", workspace.ModeFile, workspace.OID{})
	verdicts := j.verdicts()
	for label, err := range got {
		agree(t, label, err, verdicts[label]+verdicts[label+" itself"])
	}
}

// names lists names that somebody may take for a special one, and many that
// are near to them.
func names() []string {
	all := []string{
		"a", " lead", "trail ", "foo..bar", "...", "a\\b", "con", "a:b", "\xff", ".", "..",
		".git", ".GIT", ".gIt", "git~1", "GIT~1", "git~2", ".git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION", ".git:x",
		".gi\u200ct", "\u200e.git", ".git\ufeff", ".g\u206ait", ".git\xff", ".git\xff\xfe", "a\\.git", "a\\git~1 ", ".git\\x", ".gitx", "xgit~1", "git~1x", "git~11",
		".gıt", ".gİt", "..git", ".git\u200b",
	}
	for _, s := range specials {
		n := string(s.name)
		all = append(all,
			"."+n, "."+strings.ToUpper(n), "."+n+" ", "."+n+".", "."+n+":x", "."+n+"x", n, "\u200c."+n, "."+n+"\ufeff",
			n[:6]+"~1", n[:6]+"~4", n[:6]+"~5", n[:6]+"~0", strings.ToUpper(n[:6])+"~2", n[:6]+"~1 .", n[:6]+"~1x", n[:6]+"~12",
			s.ntfs+"~1", s.ntfs+"~9", s.ntfs+"~0", s.ntfs[:5]+"~12", s.ntfs[:4]+"~123", s.ntfs[:2]+"~12345", s.ntfs[:1]+"~123456", "~1234567", s.ntfs+"~1.",
			strings.ToUpper(s.ntfs)+"~1", s.ntfs[:5]+"~1a", s.ntfs[:5]+"~01", s.ntfs, "a\\."+n, "a\\"+s.ntfs+"~1", "a\\b\\."+n+" ", "."+n+"\xff",
		)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	letters := []rune(".gitGIT~1 :\\moduleatrbsn4\u200c")
	for range 150 {
		base := []rune([]string{".git", "git~1", ".gitmodules", "gi7eba~1", ".gitattributes"}[rng.IntN(5)])
		base[rng.IntN(len(base))] = letters[rng.IntN(len(letters))]
		all = append(all, string(base)+[]string{"", ".", " ", "x"}[rng.IntN(4)])
	}
	return all
}

func TestModulesAsGit(t *testing.T) {
	sub := func(lines ...string) string { return "[submodule \"x\"]\n\t" + strings.Join(lines, "\n\t") + "\n" }
	contents := []string{
		"", "# nothing\n", sub("path = a", "url = https://example.com/x"), "[submodule \"..\"]\nurl = a\n", "[submodule \"a/../b\"]\npath=b",
		"[submodule \"a\\\\..\\\\b\"]\nurl=b\n", "[submodule \"..a\"]\nurl=b\n", "[submodule \"\"]\nurl=b\n", "[submodule]\nurl=b\n", "[submodule \"a/..\"]\nx=1\n",
		"[submodule.a]\nurl=-b\n", "[SubModule \"..\"]\nurl=b\n", "[other \"..\"]\nurl=-b\n",
		sub("url = -x"), sub("path = -x"), sub("update = !x"), sub("update = checkout"), sub("update = none"), sub("url"), sub("path"), sub("URL = -x"),
		"[submodule", "x = 1", "[submodule \"a\"", "[submodule \"a\"]\nurl = \"unfinished", "[a]\n1=2", "[submodule \"x\"] url = -y", "\ufeff[submodule \"..\"]\nurl=a",
		"[submodule \"x\"]\r\nurl = -a\r\n", "[submodule \"x\"]\nurl = \\\n-a\n", "[submodule \"x\"]\nurl = a\\q\n", "[submodule \"x\\\"y\"]\nurl = a\n", "[sub_module]\na=1\n",
		"[submodule \"x\"]\nurl = \"-a\" ; comment\n", "[submodule \"x\"]\nurl = ; -a\n", "[submodule \"x\"]\nurl =\n", "[submodule \"x\"]\nu_l = -a\n", "[submodule \"x\"]\nurl = -a\n[",
	}
	for _, url := range []string{
		"./a", "../a", "../../a", "..", ".", "./", "../", "..//a", "../:a", ".././/a", "./..//b", "../..:a", "./:a", ".//a", "..\\a", "..\\:a", "../%0aa", "./%0A", "a%0ab",
		"https://example.com/%0aa", "https://exa%0ample.com/", "https:///a", "https://", "https://@/a", "https://u@/a", "https://u@h/a", "https://u:p@h", "https://:80/a",
		"http::https://h/a", "http:://h/a", "https::h", "ftp:///", "ftps://h", "http:///?x", "https://?x", "https://#x", "http::http:///x", "https::ssh://h/a", "https::ssh:///a",
		"ssh:///a", "git@h:a", "file:///a", "/a", "https://h", "HTTPS:///a", "https:/a", "http://h%0a/", "https://u%0a@h/", "ftp::a", "https::", "https://%68/", "https://a@b@/c", "https:///@h/",
		"./\\n", "\\n", "https://h/\\n", "../a\\n", "https://h/?%0a", "https://h/#%0a", "https://h?%0a", "https://%0a", "http::://x", "./%0", "./%zz%0a",
	} {
		contents = append(contents, sub("url = "+url))
	}
	j := newJudge(t)
	for _, content := range contents {
		j.modules(content, ".gitmodules")
	}
	verdicts := j.verdicts()
	for _, content := range contents {
		agree(t, content, Content(Modules, []byte(content)), verdicts[content])
	}
}

// modules writes a special file with a tree that makes git look at it.
func (j *judge) modules(content, name string) {
	id := j.add(content, object.TypeBlob, []byte(content))
	j.add("tree of "+content, object.TypeTree, object.EncodeTree([]object.Entry{object.NewEntry(name, workspace.Node{Mode: workspace.ModeFile, OID: id})}))
}

func TestAttributesAsGit(t *testing.T) {
	j := newJudge(t)
	contents := []string{"", "* text=auto\n", strings.Repeat("a", 2047) + "\n", strings.Repeat("b", 2047), strings.Repeat("c", 2048) + "\n",
		strings.Repeat("d", 2048), "x\n" + strings.Repeat("e", 3000), strings.Repeat("f\n", 3000), strings.Repeat("g", 2047) + "\r\n", "\x00" + strings.Repeat("h", 3000)}
	for _, content := range contents {
		j.modules(content, ".gitattributes")
	}
	verdicts := j.verdicts()
	for _, content := range contents {
		agree(t, content[:min(3, len(content))], Content(Attributes, []byte(content)), verdicts[content])
	}
	if err := Content(Attributes, make([]byte, maxAttributes+1)); !errors.Is(err, workspace.Invalid) {
		t.Errorf("too large: got %v", err)
	}
}

func TestCommitsAsGit(t *testing.T) {
	fine := workspace.Signature{Name: "A", Email: "a@b"}
	j := newJudge(t)
	got := map[string]error{}
	for _, who := range []workspace.Signature{
		fine, {Name: "A <", Email: "a"}, {Name: "A>", Email: "a"}, {Name: "A\nB", Email: "a"}, {Name: "A", Email: "a>b"},
		{Name: "A", Email: "a<b"}, {Name: "A", Email: "a\nb"}, {Name: "Ä", Email: "ä@b"}, {Name: "A B", Email: "a b"},
	} {
		c := &object.Commit{Author: who, Committer: fine, AuthorTime: time.Unix(1, 0), CommitTime: time.Unix(1, 0), Message: "m\n"}
		c.Tree = j.add("tree", object.TypeTree, nil)
		label := fmt.Sprintf("%q", who)
		j.add(label, object.TypeCommit, object.EncodeCommit(c))
		got[label] = Identity("author", who)
		c.Author, c.Committer = fine, who
		j.add(label+" committer", object.TypeCommit, object.EncodeCommit(c))
		got[label+" committer"] = got[label]
	}
	for _, message := range []string{"", "m", "a\x00b", "\n\n", "\xff"} {
		c := &object.Commit{Author: fine, Committer: fine, AuthorTime: time.Unix(1, 0), CommitTime: time.Unix(1, 0), Message: message}
		c.Tree = j.add("tree", object.TypeTree, nil)
		label := fmt.Sprintf("message %q", message)
		j.add(label, object.TypeCommit, object.EncodeCommit(c))
		got[label] = Message(message)
	}
	verdicts := j.verdicts()
	for label, err := range got {
		agree(t, label, err, verdicts[label])
	}
	// Stricter than git: a name or an address of nothing.
	for _, who := range []workspace.Signature{{Email: "a"}, {Name: " ", Email: "a"}, {Name: "A"}, {Name: "A", Email: " "}, {Name: "A\x00", Email: "a"}} {
		if err := Identity("author", who); !errors.Is(err, workspace.Invalid) {
			t.Errorf("%q: got %v, want invalid", who, err)
		}
	}
}
