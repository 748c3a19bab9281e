//go:build !linux

package object

import "errors"

// watch is what nothing is known of on this system how to tell.
type watch struct{}

func newWatch(string) (*watch, error) { return nil, errors.ErrUnsupported }

func (*watch) close()                                           {}
func (*watch) listed() (bool, error)                            { return false, errors.ErrUnsupported }
func (*watch) walked(string, map[string][]string) (bool, error) { return false, errors.ErrUnsupported }
