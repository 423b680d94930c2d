//go:build !(linux || darwin || freebsd)

package framecache

// reserveMemory allocates on the heap. The bound still applies, but the garbage collector
// lets the heap grow by its percentage of this memory.
func reserveMemory(n int) (memory []byte, free func([]byte) error) {
	return make([]byte, n), func([]byte) error { return nil }
}
