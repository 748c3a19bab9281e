package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"carrel.dev/server"
)

func fairRows() []row {
	return []row{{"fair-edit", "An edit beside somebody's 64 searches at once", prepareFair}}
}

const (
	editAlone  = "Carrel: edit, nobody else"
	editBeside = "Carrel: edit beside 64 greps"
)

// prepareFair has one client edit while another one searches the whole repository
// without a pause, both at one desk, as carrel serve has it.
func prepareFair(s *stage) {
	s.about = "A client edits a file of its workspace, again and again; another one keeps 64 searches of the whole repository going, for nothing that is there."
	c := newCarrel(s, usual().make(s).dir)
	desk := server.New(&server.Config{Project: c.project, Run: server.NewTurns(0).Runner(server.Run)})
	editor, searcher := desk.Open(&server.SessionConfig{}), desk.Open(&server.SessionConfig{})
	for session, path := range map[*server.Session]string{editor: "/agents/editor", searcher: "/agents/searcher"} {
		mustCall(s, session, "workspace.create", map[string]any{"path": path})
	}
	mustCall(s, editor, "writeFile", map[string]any{"path": "/workspace/f", "content": "a 0 z\n"})
	n, now := sized(20, 300), 0
	edits := func(t *turn) error {
		for range n {
			err := t.time("", func() error {
				next := 1 - now
				err := tryCall(t, editor, "edit", map[string]any{"path": "/workspace/f", "oldString": fmt.Sprint("a ", now), "newString": fmt.Sprint("a ", next)})
				now = next
				return err
			})
			if err != nil {
				return err
			}
		}
		t.saw("edits", fmt.Append(nil, n))
		return nil
	}
	s.add(editAlone, edits)
	s.add(editBeside, func(t *turn) error {
		ctx, stop := context.WithCancel(t)
		var searching sync.WaitGroup
		for i := range 64 {
			searching.Go(func() {
				for ctx.Err() == nil {
					tryCall(ctx, searcher, "grep", map[string]any{"pattern": fmt.Sprintf("no such thing %d [a-z]+", i)})
				}
			})
		}
		err := edits(t)
		stop()
		searching.Wait()
		return err
	})
	s.finish = func() {
		alone, beside := s.contestants[0].scores().all.P95, s.contestants[1].scores().all.P95
		s.fact("p95 of an edit beside the searches, by that of one alone", float64(beside)/float64(alone), "times", 3)
	}
}

// tryCall calls a tool on a session.
func tryCall(ctx context.Context, s *server.Session, tool string, arguments map[string]any) error {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	if r := s.Call(ctx, server.Request{Tool: tool, Arguments: raw}); r.IsError() {
		return fmt.Errorf("%s: %v", tool, r.Text)
	}
	return nil
}

func mustCall(s *stage, session *server.Session, tool string, arguments map[string]any) {
	s.Helper()
	if err := tryCall(s.Context(), session, tool, arguments); err != nil {
		s.Fatal(err)
	}
}
