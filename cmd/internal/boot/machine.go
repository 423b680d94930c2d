package boot

// Memory is the memory of the machine in bytes. An unknown value is 0.
type Memory struct {
	Total, Available int64
	// Limit is the lowest limit of the control groups of this process, or 0 if there is
	// none.
	Limit int64
	// LimitFile is the file from which Limit was read.
	LimitFile string
}
