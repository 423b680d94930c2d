//go:build !unix

package disk

import "os"

// lockFile does nothing, because this system has no such advisory lock. The stores lock
// their own directories.
func lockFile(*os.File) error { return nil }

// unlockFile does nothing, as lockFile.
func unlockFile(*os.File) error { return nil }
