//go:build linux || darwin || freebsd

package framecache

import "syscall"

// reserveMemory maps zeroed memory outside the heap; pages are allocated when they are
// first written. It falls back to the heap if mapping fails.
func reserveMemory(n int) (memory []byte, free func([]byte) error) {
	memory, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n), func([]byte) error { return nil }
	}
	return memory, syscall.Munmap
}
