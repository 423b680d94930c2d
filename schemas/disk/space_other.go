//go:build !linux

package disk

import "errors"

// SpaceOf returns errors.ErrUnsupported.
func SpaceOf(string) (Space, error) { return Space{}, errors.ErrUnsupported }

// FileSystemOf returns errors.ErrUnsupported.
func FileSystemOf(string) (uint64, error) { return 0, errors.ErrUnsupported }

// Allocate returns errors.ErrUnsupported.
func Allocate(string, int64) error { return errors.ErrUnsupported }
