package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Kind classifies an error by what a caller can do about it. A Kind is itself
// an error, so errors.Is(err, NotExist) asks for one. The values are the codes
// that clients see; they are stable and never reused.
type Kind string

// The kinds. Internal is what nobody classified: its text is withheld from
// clients.
const (
	Internal    Kind = "internal"
	Invalid     Kind = "invalid"
	NotExist    Kind = "not_exist"
	Exist       Kind = "exist"
	IsDir       Kind = "is_dir"
	NotDir      Kind = "not_dir"
	Permission  Kind = "permission"
	Conflict    Kind = "conflict"
	Unbound     Kind = "unbound"
	Closed      Kind = "closed"
	Limit       Kind = "limit"
	Unavailable Kind = "unavailable"
	Corrupt     Kind = "corrupt"
	Canceled    Kind = "canceled"
)

// Kinds lists every kind, so that a test can hold each wire's mapping against it.
var Kinds = [...]Kind{
	Internal, Invalid, NotExist, Exist, IsDir, NotDir, Permission,
	Conflict, Unbound, Closed, Limit, Unavailable, Corrupt, Canceled,
}

// Error makes a Kind an error.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Is answers for the sentinels of io/fs and context, so that Go libraries
// reading a snapshot see the errors that they know.
func (k Kind) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return k == NotExist
	case fs.ErrExist:
		return k == Exist
	case fs.ErrPermission:
		return k == Permission
	case fs.ErrInvalid:
		return k == Invalid
	case fs.ErrClosed:
		return k == Closed
	case context.Canceled:
		return k == Canceled
	}
	return false
}

// Error is the one error type of Carrel. Err says what is wrong, in a sentence
// without a full stop; Hint says what to do, in sentences. Hints name tools by
// their canonical name in backquotes; whoever shows a hint may respell the name
// and leaves out a sentence whose tool its client does not have.
type Error struct {
	Op   string // the tool or operation, for example "edit"; may be empty
	Path string // what it was about, as the caller can name it; may be empty
	Kind Kind
	Hint string
	Err  error
}

// Error formats as "op path: message".
func (e *Error) Error() string {
	head := strings.TrimSpace(e.Op + " " + e.Path)
	msg := e.Kind.Error()
	if e.Err != nil {
		msg = e.Err.Error()
	}
	if head == "" {
		return msg
	}
	return head + ": " + msg
}

// Unwrap gives errors.Is and errors.As both the kind and the cause. A cause of
// another kind is not shown: whoever named the kind has decided what it comes to,
// and a repository that lacks an object must not pass for a path at which nothing
// is.
func (e *Error) Unwrap() []error {
	var inner Kind
	if e.Err == nil || errors.As(e.Err, &inner) && inner != e.Kind {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Errorf makes an Error of a kind, with the message formatted as by fmt.Errorf.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...)}
}

// At returns e with the path that it is about.
func (e *Error) At(path string) *Error { e.Path = path; return e }

// Hinted returns e with what to do about it, formatted as by fmt.Sprintf.
func (e *Error) Hinted(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// KindOf returns the kind of err: that of the first Error or Kind in its tree,
// Canceled for a context that ended, and Internal for anything else.
func KindOf(err error) Kind {
	var e *Error
	var k Kind
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.As(err, &k):
		return k
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Canceled
	}
	return Internal
}

// HintOf returns the hint of the first Error in err's tree, or "".
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// InOp names the operation of err, unless it has one already. The operation is
// named once, by whoever is nearest to the caller.
func InOp(op string, err error) error {
	var e *Error
	if err == nil {
		return nil
	}
	if errors.As(err, &e) {
		if e.Op != "" {
			return err
		}
		named := *e
		named.Op = op
		return &named
	}
	return &Error{Op: op, Kind: KindOf(err), Err: err}
}
