//go:build !linux

package boot

import "errors"

// MemoryOfMachine returns errors.ErrUnsupported.
func MemoryOfMachine() (Memory, error) { return Memory{}, errors.ErrUnsupported }
