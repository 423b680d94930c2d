//go:build !linux

package ctags

// limitProcess does nothing: only Linux can set the limits of another process.
func limitProcess(int) error { return nil }
