package verification

import "github.com/quarrysearch/quarry/schemas/code"

// Request says what to compare.
type Request struct {
	// Repositories are the ones to look at; empty means all.
	Repositories []code.RepositoryID
	// Remote compares with the repositories themselves, too; otherwise only with
	// the mirrors.
	Remote bool
	// Repair has what differs indexed again, and compares that once more.
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
	Summary    Type = "summary"
)

// Finding is one thing that a verification reports. Which fields it has depends on the
// type.
type Finding struct {
	Type Type

	// Of a difference, and of a repository that could not be compared:
	Repository code.RepositoryID
	Name       string
	Ref        code.Ref
	// Kind is one word; Message is for people.
	Kind    string
	Message string
	// Path is the first of Count files.
	Path  string
	Count int
	// Indexed and Found are what differs: commits, branches, numbers.
	Indexed string
	Found   string
	// AfterRepair says that indexing again did not help.
	AfterRepair bool

	// Of progress and the summary:
	Counts *Counts
}

// Counts say how far a verification is, or was.
type Counts struct {
	Repositories int
	// Total is how many repositories are to be looked at.
	Total int
	Refs  int
	Files int
	// Differences counts the remaining ones: in a summary after a repair, what it
	// left.
	Differences int
	Repaired    int
	// Unchecked counts the repositories and refs that could not be compared.
	Unchecked int
}
