//go:build !linux

package ctags

// limitProcess does nothing: the limits of another process can be set on Linux only.
func limitProcess(int) error { return nil }
