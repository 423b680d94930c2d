package event

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// The types of the events of precise indexes.
const (
	TypeScipUploaded Type = "dev.quarry.scip.uploaded.v1"
	TypeScipDeleted  Type = "dev.quarry.scip.deleted.v1"
)

// Bounds of a ScipUploaded.
const (
	// MaxScipUploads bounds the uploads that a repository keeps.
	MaxScipUploads = 64
	// MaxToolBytes bounds the name and the version of an indexer.
	MaxToolBytes = 100
)

// ScipUploaded announces that a precise index of a commit is in the segment store:
// readers may use it.
type ScipUploaded struct {
	Repository code.RepositoryID `json:"repository"`
	Commit     code.CommitID     `json:"commit"`
	// Path is the directory that the index covers; empty for the whole repository.
	Path string `json:"path,omitempty"`
	// Object is its name in the segment store.
	Object      string `json:"object"`
	SizeBytes   int64  `json:"sizeBytes"`
	Documents   int    `json:"documents"`
	Occurrences int64  `json:"occurrences"`
	Symbols     int    `json:"symbols"`
	// Tool and ToolVersion name the indexer.
	Tool        string `json:"tool,omitempty"`
	ToolVersion string `json:"toolVersion,omitempty"`
	// Keep is the number of uploads of the path and tool that the repository keeps from
	// now on, including this one: 1 to MaxScipUploads.
	Keep int       `json:"keep"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (*ScipUploaded) EventType() Type { return TypeScipUploaded }

// Key implements Event.
func (e *ScipUploaded) Key() code.RepositoryID { return e.Repository }

func (c *checker) checkScipUploaded(e *ScipUploaded) {
	c.checkRepositoryID(e.Repository)
	c.checkPresentCommit("commit", e.Commit)
	if e.Path != "" {
		c.checkText("path", e.Path, 1, code.MaxPathBytes)
		c.addError("path", code.ValidatePath(e.Path))
	}
	c.checkObjectName("object", e.Object)
	c.checkNotNegative("sizeBytes", e.SizeBytes)
	c.checkNotNegative("documents", int64(e.Documents))
	c.checkNotNegative("occurrences", e.Occurrences)
	c.checkNotNegative("symbols", int64(e.Symbols))
	c.checkText("tool", e.Tool, 0, MaxToolBytes)
	c.checkText("toolVersion", e.ToolVersion, 0, MaxToolBytes)
	if e.Keep < 1 || e.Keep > MaxScipUploads {
		c.addErrorf("keep: %d, want 1 to %d", e.Keep, MaxScipUploads)
	}
	c.checkTime("at", e.At)
}

// ScipDeleted says that an owner deleted a precise index: readers must not use it any more.
type ScipDeleted struct {
	Repository code.RepositoryID `json:"repository"`
	// Object is the name of the index in the segment store. Each upload has another one, so
	// the event never concerns a later upload of the same commit.
	Object string    `json:"object"`
	At     time.Time `json:"at"`
}

// EventType implements Event.
func (*ScipDeleted) EventType() Type { return TypeScipDeleted }

// Key implements Event.
func (e *ScipDeleted) Key() code.RepositoryID { return e.Repository }

func (c *checker) checkScipDeleted(e *ScipDeleted) {
	c.checkRepositoryID(e.Repository)
	c.checkObjectName("object", e.Object)
	c.checkTime("at", e.At)
}
