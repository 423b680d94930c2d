//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

// blockBytesOfStat is the unit in which the system counts blocks, whatever theirs is.
const blockBytesOfStat = 512

// allocatedBytes returns what a file takes, which it is, and how many names it has.
func allocatedBytes(info fs.FileInfo) (bytes int64, id fileID, names uint64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), fileID{}, 1
	}
	return int64(s.Blocks) * blockBytesOfStat, fileID{uint64(s.Dev), uint64(s.Ino)}, uint64(s.Nlink)
}
