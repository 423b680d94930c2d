//go:build unix

package embeddedlog

import (
	"io/fs"
	"syscall"
)

// allocatedBytes returns the disk space allocated to a file, because Pebble preallocates
// its write-ahead log. The system reports blocks of 512 bytes, whatever the block size of
// the file system is.
func allocatedBytes(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512
	}
	return info.Size()
}
