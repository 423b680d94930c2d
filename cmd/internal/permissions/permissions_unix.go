//go:build unix

package permissions

import (
	"io/fs"
	"os"
	"syscall"
)

// enforced reports whether this system enforces permission bits.
const enforced = true

// RestrictUmask makes the files that this process and its children create accessible only
// to their owner, whatever umask the shell has set.
func RestrictUmask() { syscall.Umask(int(otherBits)) }

// ownerOf returns the owner of a file, and whether that is the user of this process.
func ownerOf(info fs.FileInfo) (owner uint32, ours bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, int(stat.Uid) == os.Geteuid()
}
