package event

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// The types of the events of submodules.
const (
	TypeSubmodulesListed Type = "dev.quarry.submodules.listed.v1"
	TypePinsChanged      Type = "dev.quarry.pins.changed.v1"
)

// Bounds of the events of submodules.
const (
	// MaxSubmodules bounds the submodules of a repository that are listed.
	MaxSubmodules = 100
	// MaxPins bounds the pins of a repository.
	MaxPins = 100
)

// SubmodulesListed lists the submodules of the default branch of a repository whose
// Submodules is set, replacing the previous list. A worker appends it.
type SubmodulesListed struct {
	Repository code.RepositoryID `json:"repository"`
	// Submodules are the first MaxSubmodules in the order of their paths.
	Submodules []code.Submodule `json:"submodules"`
	// Cause is the position of the event that led to this one.
	Cause Position  `json:"cause"`
	At    time.Time `json:"at"`
}

// PinsChanged replaces the pins of a repository, at most MaxPins: the commits to index
// because submodules of other repositories refer to them.
type PinsChanged struct {
	Repository code.RepositoryID `json:"repository"`
	Commits    []code.CommitID   `json:"commits"`
	At         time.Time         `json:"at"`
}

// EventType implements Event.
func (*SubmodulesListed) EventType() Type { return TypeSubmodulesListed }
func (*PinsChanged) EventType() Type      { return TypePinsChanged }

// Key implements Event.
func (e *SubmodulesListed) Key() code.RepositoryID { return e.Repository }
func (e *PinsChanged) Key() code.RepositoryID      { return e.Repository }

func (c *checker) checkSubmodulesListed(e *SubmodulesListed) {
	c.checkRepositoryID(e.Repository)
	if len(e.Submodules) > MaxSubmodules {
		c.addErrorf("submodules: %d, at most %d", len(e.Submodules), MaxSubmodules)
	}
	for _, s := range e.Submodules {
		c.addError("submodules", ValidateSubmodule(s))
	}
	c.checkPosition("cause", e.Cause)
	c.checkTime("at", e.At)
}

// ValidateSubmodule returns an error if a SubmodulesListed may not contain s.
func ValidateSubmodule(s code.Submodule) error {
	c := &checker{}
	c.checkCloneURL("cloneUrl", s.CloneURL)
	c.checkPresentCommit("commit", s.Commit)
	return c.err
}

func (c *checker) checkPinsChanged(e *PinsChanged) {
	c.checkRepositoryID(e.Repository)
	if len(e.Commits) > MaxPins {
		c.addErrorf("commits: %d, at most %d", len(e.Commits), MaxPins)
	}
	for _, commit := range e.Commits {
		c.checkPresentCommit("commits", commit)
	}
	c.checkTime("at", e.At)
}
