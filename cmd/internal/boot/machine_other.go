//go:build !linux

package boot

// SpaceOf fails with ErrUnknown.
func SpaceOf(string) (Space, error) { return Space{}, ErrUnknown }

// FileSystemOf fails with ErrUnknown.
func FileSystemOf(string) (uint64, error) { return 0, ErrUnknown }

// Allocate fails with ErrUnknown.
func Allocate(string, int64) error { return ErrUnknown }

// MemoryOfMachine fails with ErrUnknown.
func MemoryOfMachine() (Memory, error) { return Memory{}, ErrUnknown }
