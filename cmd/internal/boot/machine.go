package boot

import "errors"

// ErrUnknown says that this system does not report it.
var ErrUnknown = errors.New("not known on this system")

// Space is what a file system has left for this user.
type Space struct {
	FreeBytes, TotalBytes int64
	FreeFiles, TotalFiles int64 // 0 and 0 if the file system has no such bound
}

// Memory is what the machine has, in bytes; 0 for what is not known.
type Memory struct {
	Total, Available int64
	// Limit is the lowest limit of the control groups of this process; 0 for none.
	Limit int64
	// LimitFile is where Limit was read.
	LimitFile string
}
