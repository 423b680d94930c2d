package catalog

import (
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ScipUpload is a precise index of a commit.
type ScipUpload struct {
	Commit code.CommitID `json:"commit"`
	// Path is the directory that it covers; empty for the whole repository.
	Path string `json:"path,omitempty"`
	// Object is its name in the segment store.
	Object      string    `json:"object"`
	SizeBytes   int64     `json:"sizeBytes"`
	Documents   int       `json:"documents"`
	Occurrences int64     `json:"occurrences"`
	Symbols     int       `json:"symbols"`
	Tool        string    `json:"tool,omitempty"`
	ToolVersion string    `json:"toolVersion,omitempty"`
	At          time.Time `json:"at"`
}

// applyScipUpload puts an upload in front of the others. It replaces one of the same
// commit, path and tool, and drops the oldest of that path and tool beyond ev.Keep, and
// the oldest of all beyond event.MaxScipUploads.
func (c *Catalog) applyScipUpload(b *store.Batch, at event.Position, ev *event.ScipUploaded) error {
	var row repositoryRow
	found, err := readRow(b, repositoryKey(ev.Repository), &row)
	if err != nil || !found {
		return err
	}
	next := ScipUpload{
		Commit: ev.Commit, Path: ev.Path, Object: ev.Object, SizeBytes: ev.SizeBytes, Documents: ev.Documents,
		Occurrences: ev.Occurrences, Symbols: ev.Symbols, Tool: ev.Tool, ToolVersion: ev.ToolVersion, At: ev.At,
	}
	kept, same := []ScipUpload{next}, 1
	for _, u := range row.ScipUploads {
		if u.Path == next.Path && u.Tool == next.Tool {
			if u.Commit == next.Commit || same >= ev.Keep {
				continue
			}
			same++
		}
		kept = append(kept, u)
	}
	row.ScipUploads = slices.Clip(kept[:min(len(kept), event.MaxScipUploads)])
	return c.write(b, at, &row)
}

// applyScipDeletion removes the upload that the event names. A missing upload was replaced,
// deleted or erased before.
func (c *Catalog) applyScipDeletion(b *store.Batch, at event.Position, ev *event.ScipDeleted) error {
	return c.keepScipUploads(b, at, ev.Repository, func(u ScipUpload) bool { return u.Object != ev.Object })
}

// keepScipUploads keeps the precise indexes of a repository for which isKept returns true.
func (c *Catalog) keepScipUploads(b *store.Batch, at event.Position, id code.RepositoryID, isKept func(ScipUpload) bool) error {
	return c.updateRow(b, at, id, func(row *repositoryRow) bool {
		var kept []ScipUpload
		for _, u := range row.ScipUploads {
			if isKept(u) {
				kept = append(kept, u)
			}
		}
		changed := len(kept) < len(row.ScipUploads)
		row.ScipUploads = kept
		return changed
	})
}
