//go:build unix

package permissions

import (
	"io/fs"
	"os"
	"syscall"
)

// enforced says that permission bits mean something here.
const enforced = true

// RestrictUmask lets this process, and those that it starts, create files that
// their owner alone may use, whatever the shell that started it had set.
func RestrictUmask() { syscall.Umask(int(otherBits)) }

// ownerOf returns the user that a file belongs to, and whether that is the user of
// this process.
func ownerOf(info fs.FileInfo) (owner uint32, ours bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, int(stat.Uid) == os.Geteuid()
}
