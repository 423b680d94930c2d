//go:build unix

package embeddedlog

import (
	"io/fs"
	"syscall"
)

// allocatedBytes returns what a file takes on disk: Pebble allocates its write-ahead
// log ahead. The system counts blocks of 512 bytes, whatever theirs is.
func allocatedBytes(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512
	}
	return info.Size()
}
