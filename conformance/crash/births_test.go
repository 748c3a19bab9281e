package crash

import (
	"context"
	"fmt"
	"math/rand/v2"

	"carrel.dev/conformance"
)

// births makes workspaces and ends some, one call after the other.
type births struct {
	random *rand.Rand
	prefix string // of those of this round
	n      int
	lives  map[string]bool // by workspace of this round: not yet ended
	open   *call           // asked for and not answered
}

// begin starts a round.
func (b *births) begin(prefix string) {
	b.prefix, b.n, b.lives, b.open = prefix, 0, map[string]bool{}, nil
}

// next chooses a call: every third one ends a workspace.
func (b *births) next() *call {
	b.n++
	key := fmt.Sprintf("%s.%d", b.prefix, b.n)
	for ws, alive := range b.lives {
		if alive && b.random.IntN(3) == 0 {
			return &call{Tool: "workspace.delete", Args: args{"path": ws}, Key: key}
		}
	}
	return &call{Tool: "workspace.create", Args: args{"path": fmt.Sprintf("%s/n%d", b.prefix, b.n)}, Key: key}
}

// ask makes a call. While it is not answered it stays open.
func (b *births) ask(ctx context.Context, s conformance.Session, c *call) error {
	b.open = c
	var facts struct{ Created, Deleted bool }
	if err := try(ctx, s, *c, &facts); err != nil {
		return err
	}
	b.open = nil
	b.lives[c.Args["path"].(string)] = c.Tool == "workspace.create"
	if !facts.Created && !facts.Deleted {
		return fmt.Errorf("%s %s: was done before", c.Tool, c.Args["path"])
	}
	return nil
}

// check holds the list of workspaces, which the project's stream gives, and each
// workspace's own stream against the model.
func (b *births) check(ctx context.Context, s conformance.Session) error {
	listed := map[string]bool{}
	var page struct {
		Workspaces []struct{ Path string }
		Truncated  bool
	}
	if err := try(ctx, s, call{Tool: "workspace.list", Args: args{"prefix": b.prefix}}, &page); err != nil {
		return err
	}
	for _, w := range page.Workspaces {
		listed[w.Path] = true
	}
	want := map[string][]bool{} // what may be, by workspace
	for ws, alive := range b.lives {
		want[ws] = []bool{alive}
	}
	if b.open != nil {
		want[b.open.Args["path"].(string)] = []bool{false, true}
	}
	for ws, may := range want {
		shown := code(try(ctx, s, call{Tool: "workspace.show", Args: args{"workspace": ws}}, nil))
		lives := shown == ""
		if lives != listed[ws] && !page.Truncated {
			return fmt.Errorf("%s is listed: %v, and to show it says %q", ws, listed[ws], shown)
		}
		if len(may) == 1 && lives != may[0] {
			return fmt.Errorf("%s lives: %v, want %v", ws, lives, may[0])
		}
	}
	return nil
}
