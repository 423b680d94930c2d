package sharding

import "time"

// Replica is a process with the text of a share, as the last probe of a front found it.
type Replica struct {
	Share      string  // as in the settings
	Partitions []int32 // ascending
	Address    string  // HOST:PORT, or a name in the settings that has no address
	// Failure is the reason why the front does not ask the replica; nil if it answered.
	Failure error
	// Version is that of its program, and Age the age of what it sees. Both are those of the last
	// answer, and zero if Failure is set.
	Version string
	Age     time.Duration
}
