// Package events is what every store decides alike about events: which are fit
// to be stored, how they look when they come back, and which are the same.
package events

import (
	"bytes"
	"math"
	"slices"
	"time"

	"carrel.dev/workspace"
)

// MaxPayload is the largest payload that an event carries itself, in bytes. A
// larger one is a body, which the event names.
const MaxPayload = 64 << 10

// Check reports what makes an append Invalid whatever the store holds: a batch
// without a stream, an event without an id or with a time, a payload or names of
// bodies that cannot be kept, a body that is not what its id says.
func Check(batches []workspace.Batch) error {
	for _, b := range batches {
		if b.Stream.Project == "" || b.Stream.Name == "" {
			return workspace.Errorf(workspace.Invalid, "append to a stream without project or name")
		}
		for _, e := range b.Events {
			if why := unfit(e); why != "" {
				return workspace.Errorf(workspace.Invalid, "event %q of type %q: %s", e.ID, e.Type, why).At(b.Stream.Name)
			}
		}
		for _, body := range b.Bodies {
			if got, err := workspace.BlobID(body.Content); err != nil {
				return err
			} else if got != body.ID {
				return workspace.Errorf(workspace.Invalid, "body %s has content with the id %s", body.ID, got).At(b.Stream.Name)
			}
		}
	}
	return nil
}

// unfit says why an event cannot be stored, or "".
func unfit(e workspace.Event) string {
	switch {
	case e.ID == "":
		return "it has no id"
	case e.Version < math.MinInt32 || e.Version > math.MaxInt32:
		return "its version is out of range"
	case !e.At.IsZero() && !time.Unix(0, e.At.UnixNano()).Equal(e.At):
		return "its time is outside the years 1678 to 2262"
	case len(e.Payload) > MaxPayload:
		return "its payload is larger than 64 KiB and must be a body"
	case !e.PayloadBody.IsZero() && !slices.Contains(e.Bodies, e.PayloadBody):
		return "its payload's body is not among its bodies"
	case slices.Contains(e.Bodies, workspace.OID{}):
		return "it names the zero id as a body"
	}
	return ""
}

// Normal is an event as it comes back from a store: its time in UTC, what is
// empty nil, and no memory shared with the argument.
func Normal(e workspace.Event) workspace.Event {
	e.At = Time(e.At)
	e.Result = append([]byte(nil), e.Result...)
	e.Payload = append([]byte(nil), e.Payload...)
	e.Bodies = append([]workspace.OID(nil), e.Bodies...)
	return e
}

// Time is a time as it comes back from a store: in UTC, without the reading of
// a monotonic clock.
func Time(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return time.Unix(0, at.UnixNano()).UTC()
}

// Same reports whether two events have the same content.
func Same(a, b workspace.Event) bool {
	return a.ID == b.ID && a.Type == b.Type && a.Version == b.Version && a.At.Equal(b.At) &&
		a.Actor == b.Actor && a.Session == b.Session && a.Client == b.Client &&
		a.Key == b.Key && a.Request == b.Request && bytes.Equal(a.Result, b.Result) &&
		bytes.Equal(a.Payload, b.Payload) && a.PayloadBody == b.PayloadBody &&
		slices.Equal(a.Bodies, b.Bodies)
}
