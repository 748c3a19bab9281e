package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Kind
	}{
		{nil, ""},
		{errors.New("x"), Internal},
		{NotExist, NotExist},
		{fmt.Errorf("wrapped: %w", Errorf(IsDir, "x")), IsDir},
		{&Error{Kind: Corrupt, Err: NotExist}, Corrupt},
		{context.Canceled, Canceled},
		{fmt.Errorf("late: %w", context.DeadlineExceeded), Canceled},
		{&ConflictError{}, Conflict},
		{fmt.Errorf("wrapped: %w", &MissingBodiesError{}), Unavailable},
		{errors.Join(errors.New("x"), &ConflictError{}), Conflict},
	} {
		if got := KindOf(tt.err); got != tt.want {
			t.Errorf("kind of %v: got %q, want %q", tt.err, got, tt.want)
		}
	}
	for sentinel, k := range map[error]Kind{fs.ErrNotExist: NotExist, fs.ErrExist: Exist, fs.ErrPermission: Permission, fs.ErrInvalid: Invalid, fs.ErrClosed: Closed} {
		for _, other := range Kinds {
			if got := errors.Is(Errorf(other, "x"), sentinel); got != (other == k) {
				t.Errorf("%s is %v: %v", other, sentinel, got)
			}
		}
	}
}

// An error is of one kind, whatever it was made of.
func TestErrorHasOneKind(t *testing.T) {
	err := fmt.Errorf("reading: %w", &Error{Kind: Unavailable, Err: fmt.Errorf("of the mount: %w", Errorf(NotExist, "object is missing"))})
	for _, k := range Kinds {
		if got := errors.Is(err, k); got != (k == Unavailable) {
			t.Errorf("it is %s: %v", k, got)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Error("it is fs.ErrNotExist")
	}
	if err := Errorf(Corrupt, "content: %w", ErrMissing); !errors.Is(err, ErrMissing) {
		t.Error("a cause without a kind is lost")
	}
}

func TestInOp(t *testing.T) {
	err := InOp("outer", InOp("edit", Errorf(Conflict, "occurs twice").At("/a").Hinted("Look.")))
	if got := err.Error(); got != "edit /a: occurs twice" || HintOf(err) != "Look." || KindOf(err) != Conflict {
		t.Errorf("got %q, %q", got, HintOf(err))
	}
	if got := InOp("stat", errors.New("disk")); got.Error() != "stat: disk" || KindOf(got) != Internal {
		t.Errorf("got %v", got)
	}
}
