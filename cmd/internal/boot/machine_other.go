//go:build !linux

package boot

// SpaceOf returns ErrUnknown.
func SpaceOf(string) (Space, error) { return Space{}, ErrUnknown }

// FileSystemOf returns ErrUnknown.
func FileSystemOf(string) (uint64, error) { return 0, ErrUnknown }

// Allocate returns ErrUnknown.
func Allocate(string, int64) error { return ErrUnknown }

// MemoryOfMachine returns ErrUnknown.
func MemoryOfMachine() (Memory, error) { return Memory{}, ErrUnknown }
