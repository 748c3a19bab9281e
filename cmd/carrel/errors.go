package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// The exit statuses.
const (
	statusOK      = 0
	statusRefused = 1
	statusUsage   = 2
)

// usageError is a command line that means nothing.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// asUsage makes the error of reading a command line a usageError.
func asUsage(cmd *cobra.Command, err error) error {
	var u *usageError
	if err == nil || errors.As(err, &u) {
		return err
	}
	return &usageError{err, seeHelp(cmd)}
}

func seeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf("See `%s --help`.", cmd.CommandPath())
}

// usage is a usageError of the running command.
func (c *cli) usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), seeHelp(c.running)}
}

// unknownCommand says what may have been meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := seeHelp(cmd)
	cmd.SuggestionsMinimumDistance = 2 // a swap of two letters
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("Did you mean `%s %s`?", cmd.CommandPath(), near[0])
	}
	return &usageError{fmt.Errorf("unknown command %q for %q", name, cmd.CommandPath()), hint}
}

// refused is the answer of a tool that failed: the sentence and, on further
// lines, what to do. It was put into words already.
type refused string

func (r refused) Error() string { return string(r) }

// report shows an error, if it is one, and returns the exit status.
func report(w io.Writer, err error) int {
	if err == nil {
		return statusOK
	}
	var u *usageError
	if errors.As(err, &u) {
		fmt.Fprintf(w, "carrel: %v\n%s\n", u, u.hint)
		return statusUsage
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintf(w, "carrel: %s\n", text)
	if hint := workspace.HintOf(err); hint != "" {
		fmt.Fprintln(w, inCommands(hint))
	}
	return statusRefused
}

// commands are the tools that have a command of their own.
var commands = map[string]string{
	"git.status": "status", "git.diff": "diff", "git.commit": "commit", "git.log": "log", "revert": "revert",
	"workspace.create": "workspace create", "workspace.list": "workspace list",
	"workspace.show": "workspace show", "workspace.delete": "workspace delete",
}

// toolName is the name of a tool as hints and notes write it, or another single
// word in backquotes.
var toolName = regexp.MustCompile("`[a-z][a-zA-Z]*(\\.[a-z][a-zA-Z]*)?`")

// inCommands puts a text that names tools into words of the command line.
func inCommands(text string) string {
	known := map[string]bool{}
	for _, t := range tools.All() {
		known[t.Name] = true
	}
	text = strings.ReplaceAll(text, "pass discard: true", "pass --discard")
	return toolName.ReplaceAllStringFunc(text, func(quoted string) string {
		name := strings.Trim(quoted, "`")
		if command, ok := commands[name]; ok {
			return "`carrel " + command + "`"
		}
		if !known[name] {
			return quoted
		}
		return "`carrel call " + name + "`"
	})
}
