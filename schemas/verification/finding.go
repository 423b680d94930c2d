package verification

import (
	"errors"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrBusy means that another verification is running.
var ErrBusy = errors.New("unavailable: another verification is running, retry when it has finished")

// Request describes what to compare.
type Request struct {
	// Repositories are the repositories to check; empty means all.
	Repositories []code.RepositoryID
	// Remote also compares with the repositories on their code hosts, not just with the
	// mirrors.
	Remote bool
	// Repair re-indexes refs that differ and compares them again.
	Repair bool
}

// Type is the type of a finding.
type Type string

// The types of findings.
const (
	Progress   Type = "progress"
	Difference Type = "difference"
	Unchecked  Type = "unchecked"
	Repair     Type = "repair"
	// NodeSummary is the result of one replica of a shard.
	NodeSummary Type = "node"
	Summary     Type = "summary"
)

// Finding is one result of a verification. Its type determines which fields are set.
type Finding struct {
	Type Type
	// Node is the replica of a shard that has compared, as share@address; empty in a process
	// that has everything.
	Node string

	// For a difference, and for a repository that could not be compared:
	Repository code.RepositoryID
	Name       string
	Ref        code.Ref
	// Kind identifies the kind of finding; Message is for people.
	Kind    string
	Message string
	// Path is the first of Count files.
	Path  string
	Count int
	// Indexed and Found are the differing values: commits, branches, numbers.
	Indexed string
	Found   string
	// AfterRepair reports that the difference remained after re-indexing.
	AfterRepair bool

	// For progress and summaries:
	Counts *Counts
}

// Counts describe the progress or the result of a verification.
type Counts struct {
	Repositories int
	// Total is the number of repositories to check.
	Total int
	Refs  int
	Files int
	// Differences counts the differences; in the summary after a repair, those that
	// remain.
	Differences int
	Repaired    int
	// Unchecked counts the repositories and refs that could not be compared.
	Unchecked int
}
