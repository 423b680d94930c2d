package boot

import "errors"

// ErrUnknown means that this system does not report the value.
var ErrUnknown = errors.New("not known on this system")

// Space is the free space of a file system for this user.
type Space struct {
	FreeBytes, TotalBytes int64
	FreeFiles, TotalFiles int64 // both 0 if the file system has no such bound
}

// Memory is the memory of the machine in bytes. An unknown value is 0.
type Memory struct {
	Total, Available int64
	// Limit is the lowest limit of the control groups of this process, or 0 if there is
	// none.
	Limit int64
	// LimitFile is the file from which Limit was read.
	LimitFile string
}
