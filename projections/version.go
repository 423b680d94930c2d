package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// versionFile is the name of a version's Meta in its directory.
const versionFile = "VERSION"

// Meta describes a version. A version without one was built by following the log from its
// first record.
type Meta struct {
	// CopyOf is the name of the version from which it was copied, Projection the
	// projection that was then rebuilt. Both are empty for a version that was built from
	// the log alone.
	CopyOf     string `json:"copyOf,omitempty"`
	Projection string `json:"projection,omitempty"`
	// Snapshot is the name of the snapshot from which the version was filled; it then
	// followed the log. A version of a share may have several, with commas between them.
	Snapshot string `json:"snapshot,omitempty"`
	// Ahead is Options.Ahead of a version that was filled from several snapshots.
	Ahead map[string]map[int32]event.Offset `json:"ahead,omitempty"`
	// Share is the share of the partitions whose places the version holds, as Share.String
	// returns it; empty for all of them, and NoShare for none.
	Share string `json:"share,omitempty"`
	// Partitions is the number of partitions of the log, if the version was made for a log
	// with another number than the one before; otherwise 0.
	Partitions int32 `json:"partitions,omitempty"`
	// Until is set for a version that shows a point in the past and no longer follows the
	// log.
	Until *Until `json:"until,omitempty"`
	// Schemas holds the schema version of each projection.
	Schemas map[string]int `json:"schemas,omitempty"`
	// Missing counts documents of the past that are no longer stored anywhere.
	Missing Missing `json:"missing,omitzero"`
	// BegunAt and CompletedAt are times of this machine's clock; CompletedAt is zero
	// while the version is under construction.
	BegunAt     time.Time `json:"begunAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
}

// MaxMissingFiles bounds Missing.Files.
const MaxMissingFiles = 100

// Missing lists the documents that a version of the past lacks.
type Missing struct {
	// Documents counts the missing documents.
	Documents int `json:"documents"`
	// Files lists the paths of some of them, as "repository: path".
	Files []string `json:"files,omitempty"`
}

// IsFrozen reports whether the version shows a point in the past.
func (m *Meta) IsFrozen() bool { return m.Until != nil }

// ReadMeta reads the Meta of the version in dir.
func ReadMeta(dir string) (Meta, error) {
	var m Meta
	b, err := os.ReadFile(filepath.Join(dir, versionFile))
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("projections: version in %s: %w", dir, err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("projections: version in %s: %w: %w", dir, integrity.ErrDamaged, err)
	}
	return m, nil
}

// WriteMeta durably writes the Meta of the version in dir. It creates dir.
func WriteMeta(dir string, m Meta) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = replaceFile(dir, versionFile, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("projections: version in %s: %w", dir, err)
	}
	return nil
}

// DiskBytes returns the disk space that the files of a version use. Versions share files
// with each other and with the segment store by hard links, so the sum over all versions
// exceeds the disk space in use.
func DiskBytes(dir string) (int64, error) { return store.DiskBytes(context.Background(), dir) }
