package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// A colour is an SGR parameter of ECMA-48.
type colour string

const (
	bold   colour = "1"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
)

// coloured reports whether stdout takes colours and nobody objects; see
// no-color.org.
func (c *cli) coloured() bool {
	return isTerminal(c.stdout) && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"
}

// paint colours the lines of a text for a terminal, each as pick says; "" leaves
// a line as it is. For anything else the text stays as it is.
func (c *cli) paint(text string, pick func(line string) colour) string {
	if !c.coloured() {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		plain, end := strings.CutSuffix(line, "\n")
		if col := pick(plain); col != "" {
			plain = "\x1b[" + string(col) + "m" + plain + "\x1b[m"
		}
		b.WriteString(plain)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// page shows a text, on a terminal through $PAGER or less.
func (c *cli) page(text string) error {
	pager := cmp.Or(c.getenv("PAGER"), "less")
	if !isTerminal(c.stdout) || pager == "cat" {
		return c.print(text)
	}
	const notFound = 127 // the shell's status for a command that is not there
	cmd := exec.Command("sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(withNewline(text)), c.stdout, c.stderr
	cmd.Env = append(os.Environ(), "LESS="+cmp.Or(c.getenv("LESS"), "FRX")) // as git sets it
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == notFound {
		return c.print(text)
	}
	return err
}

// print writes a text to stdout, with a newline at its end.
func (c *cli) print(text string) error {
	_, err := io.WriteString(c.stdout, withNewline(text))
	return err
}

func withNewline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// note tells a person something beside the result.
func (c *cli) note(format string, args ...any) {
	fmt.Fprintf(c.stderr, format+"\n", args...)
}
