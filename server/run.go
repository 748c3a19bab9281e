package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Run is the Runner that runs the tool and does nothing else.
func Run(ctx context.Context, t *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
	return t.Run(ctx, c, raw)
}

// Logged is a Runner that writes a line for each call: who did what, where, and how
// long it took. What the arguments and the result hold is in none.
func Logged(log *slog.Logger, run Runner) Runner {
	return func(ctx context.Context, t *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
		if !log.Enabled(ctx, slog.LevelInfo) {
			return run(ctx, t, c, raw)
		}
		began := time.Now()
		out, err := run(ctx, t, c, raw)
		code := "ok"
		if err != nil {
			code = string(workspace.KindOf(err))
		}
		log.LogAttrs(ctx, slog.LevelInfo, "call", slog.String("tool", t.Name), slog.String("code", code),
			slog.String("project", c.Project.Name()), slog.String("workspace", string(c.Workspace)),
			slog.String("session", c.Caller.Session), slog.String("principal", c.Caller.Principal),
			slog.String("client", c.Caller.Client), slog.Duration("took", time.Since(began)))
		return out, err
	}
}

// Within is a Runner that ends calls which take longer than d, those aside that have
// already become durable: they finish. With no d it is the other one.
func Within(d time.Duration, run Runner) Runner {
	if d <= 0 {
		return run
	}
	return func(ctx context.Context, t *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
		bounded, stop := context.WithTimeout(ctx, d)
		defer stop()
		out, err := run(bounded, t, c, raw)
		if err != nil && workspace.KindOf(err) == workspace.Canceled && bounded.Err() != nil && ctx.Err() == nil {
			err = workspace.InOp(t.Name, workspace.Errorf(workspace.Limit, "the call took longer than %v", d).
				Hinted("Ask for less at a time: a smaller directory, a narrower pattern, fewer paths."))
		}
		return out, err
	}
}
