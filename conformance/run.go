package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

// Env is where a script is played.
type Env struct {
	Target   Target
	Dir      string // an empty directory, for repositories and data
	Fixtures fs.FS  // what the word fixture plays
}

// Run plays a script and returns the first thing that is not as it says. The
// repositories are checked at the end, also after a failure.
func Run(ctx context.Context, env Env, s *Script) error {
	own := *s
	own.Files = maps.Clone(s.Files) // a fixture adds its files
	p := &play{env: env, script: &own, sessions: map[string]*connection{}, repos: &Repos{Dir: filepath.Join(env.Dir, "repos")}}
	if err := os.MkdirAll(p.repos.Dir, 0o755); err != nil {
		return err
	}
	t := &thread{play: p, vars: map[string]string{}}
	err := t.block(ctx, s.commands)
	if err == nil {
		err = t.settled()
	}
	if err == nil && p.checks.Load() == 0 {
		err = errors.New("the script checks nothing")
	}
	err = errors.Join(err, p.stop(), p.repos.Check(ctx))
	if err != nil {
		return fmt.Errorf("%s on %s: %w", s.Name, env.Target.Name(), err)
	}
	return nil
}

// play is one script on one target.
type play struct {
	env       Env
	script    *Script
	repos     *Repos
	checks    atomic.Int64 // expectations of the script itself that held
	fixture   bool         // a fixture is played: what it expects is no check of the script
	hostPaths bool         // results may show where files lie

	mu       sync.Mutex // guards what follows
	server   Server
	sessions map[string]*connection
}

// connection is a session that is opened when it is first used, and again after
// a restart.
type connection struct {
	options SessionOptions
	mu      sync.Mutex // guards session
	session Session    // nil while it is not open
}

func (c *connection) open(ctx context.Context, s Server) (Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		var err error
		if c.session, err = s.Session(ctx, c.options); err != nil {
			return nil, err
		}
	}
	return c.session, nil
}

// running returns the server, which is started when it is first needed.
func (p *play) running(ctx context.Context) (Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		var err error
		if p.server, err = p.env.Target.Start(ctx, filepath.Join(p.env.Dir, "data")); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
	}
	return p.server, nil
}

// stop closes everything. The sessions keep their names.
func (p *play) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed []error
	for name, c := range p.sessions {
		if c.session == nil {
			continue
		}
		if err := c.session.Close(); err != nil {
			failed = append(failed, fmt.Errorf("close session %s: %w", name, err))
		}
		c.session = nil
	}
	if p.server != nil {
		failed = append(failed, p.server.Close())
		p.server = nil
	}
	return errors.Join(failed...)
}

// thread is one sequence of commands, with what its last action gave.
type thread struct {
	play    *play
	vars    map[string]string
	session string // that calls go to
	depth   int    // of blocks
	last    outcome
}

// outcome is what an action gave, in the form that expectations ask.
type outcome struct {
	from    command
	text    string // the first block; all of them if the action failed
	notes   string // the other blocks
	bytes   []byte // of the block that is no text, nil if there is none
	facts   []byte // JSON, nil if there is none
	failed  bool
	code    string
	granted bool // an expectation asked for the failure
}

// settled fails if the last action failed and no line expects that.
func (t *thread) settled() error {
	if t.last.failed && !t.last.granted {
		return fmt.Errorf("line %d: %s %.200s: unexpected error %s: %s", t.last.from.line, t.last.from.word, t.last.from.rest, t.last.code, t.last.text)
	}
	return nil
}

func (t *thread) block(ctx context.Context, commands []command) error {
	for _, c := range commands {
		if err := t.command(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (t *thread) command(ctx context.Context, c command) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("line %d: %w", c.line, err)
	}
	rest, err := expand(c.rest, t.vars)
	if err == nil {
		c.rest = rest
		switch {
		case isBlock(c.word):
			return t.many(ctx, c)
		case isExpectation(c.word):
			if err = t.expect(c); err == nil && !t.play.fixture {
				t.play.checks.Add(1)
			}
		default:
			if err = t.settled(); err != nil {
				return err
			}
			err = t.act(ctx, c)
		}
	}
	if err != nil {
		return fmt.Errorf("line %d: %s %.200s: %w", c.line, c.word, c.rest, err)
	}
	return nil
}

// many plays a block several times, one after the other or at once. Each copy has
// variables of its own, with i the number of the copy from 1; in a block within,
// that is j, and k in one within that.
func (t *thread) many(ctx context.Context, c command) error {
	n, err := strconv.Atoi(c.rest)
	if err != nil || n < 1 {
		return fmt.Errorf("line %d: %s needs a number from 1", c.line, c.word)
	}
	if t.depth == len("ijk") {
		return fmt.Errorf("line %d: blocks are nested too deep", c.line)
	}
	if err := t.settled(); err != nil {
		return err
	}
	errs := make([]error, n)
	one := func(i int) {
		copied := &thread{play: t.play, vars: maps.Clone(t.vars), session: t.session, depth: t.depth + 1}
		copied.vars["ijk"[t.depth:t.depth+1]] = strconv.Itoa(i + 1)
		if errs[i] = copied.block(ctx, c.body); errs[i] == nil {
			errs[i] = copied.settled()
		}
	}
	var wait sync.WaitGroup
	for i := range n {
		if c.word == "parallel" {
			wait.Go(func() { one(i) })
			continue
		}
		if one(i); errs[i] != nil {
			break
		}
	}
	wait.Wait()
	return errors.Join(errs...)
}
