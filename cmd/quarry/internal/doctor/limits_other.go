//go:build !linux

package doctor

func spaceOf(string) (Space, error) { return Space{}, errUnknown }

func memoryOfMachine() (Memory, error) { return Memory{}, errUnknown }

func openFilesOf(int) (uint64, error) { return 0, errUnknown }
