//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

// blockBytesOfStat is the unit of block counts in stat, whatever the block size of the
// file system.
const blockBytesOfStat = 512

// allocatedBytes returns the disk space of a file, its ID and the number of its names.
func allocatedBytes(info fs.FileInfo) (bytes int64, id fileID, names uint64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), fileID{}, 1
	}
	return int64(s.Blocks) * blockBytesOfStat, fileID{uint64(s.Dev), uint64(s.Ino)}, uint64(s.Nlink)
}
