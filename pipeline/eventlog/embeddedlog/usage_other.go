//go:build !unix

package embeddedlog

import "io/fs"

// allocatedBytes returns the length of a file, because this system does not report its
// blocks.
func allocatedBytes(info fs.FileInfo) int64 { return info.Size() }
