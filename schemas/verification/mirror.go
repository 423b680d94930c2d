package verification

import "github.com/quarrysearch/quarry/schemas/code"

// MirrorState is what the mirror of a repository has, for a process that compares it with its index.
type MirrorState struct {
	// Missing reports that there is no mirror. The other fields are empty then.
	Missing bool
	Default code.Ref
	// Indexed are the refs that were announced, at their commits.
	Indexed []code.Revision
}

// TreeFile is a file of a commit. ID is the name of its object, and SizeBytes is negative if that is
// missing or a submodule.
type TreeFile struct {
	Path      string // as git has it
	Mode      uint32
	ID        string
	SizeBytes int64
}
