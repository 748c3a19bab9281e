package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// planEnv makes this test binary a process that follows the plan on its standard
// input.
const planEnv = "CARREL_CRASH_PLAN"

// plan is a call that a process makes on a data directory, and where it ends
// itself meanwhile.
type plan struct {
	Data  string
	Call  call
	Point string // the step, "" for none
	Nth   int    // which time it is reached, from 1
}

// follow does what a plan says, on the parts that the program stands on.
func follow(ctx context.Context, text io.Reader) error {
	var p plan
	if err := json.NewDecoder(text).Decode(&p); err != nil {
		return err
	}
	d := &death{plan: &p}
	parts, err := wire(ctx, p.Data, d.at)
	if err != nil {
		return err
	}
	d.near = true
	if err := try(ctx, parts, p.Call, nil); err != nil {
		return err
	}
	return parts.Close()
}

// death ends the process where its plan says. Steps are reached one after the
// other.
type death struct {
	plan *plan
	near bool // the call is under way
	met  int
}

func (d *death) at(point string) error {
	if !d.near || point != d.plan.Point {
		return nil
	}
	if d.met++; d.met == d.plan.Nth {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return nil
}

// carryOut has a process follow a plan and reports whether it ended itself; if
// not, the call was made.
func carryOut(t *testing.T, p *plan) (killed bool) {
	t.Helper()
	text, err := json.Marshal(p)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), planEnv+"=1")
	cmd.Stdin = bytes.NewReader(text)
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			return true
		}
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", p.Point, err, said.String())
	}
	return false
}
