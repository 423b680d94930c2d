//go:build !unix

package permissions

import "io/fs"

// enforced reports whether this system enforces permission bits.
const enforced = false

// RestrictUmask does nothing, because files inherit the permissions of their directory on
// this system.
func RestrictUmask() {}

func ownerOf(fs.FileInfo) (owner uint32, ours bool) { return 0, false }
