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
)

// versionFile is the name of a version's Meta in its directory.
const versionFile = "VERSION"

// Meta says what a version is. A version without one was made by following the
// log from its first record.
type Meta struct {
	// CopyOf is the name of the version that it began as a copy of, Projection the
	// projection that was then rebuilt; both are empty for a version built from the
	// log alone.
	CopyOf     string `json:"copyOf,omitempty"`
	Projection string `json:"projection,omitempty"`
	// Until is set for a version that shows a moment of the past and follows the
	// log no further.
	Until *Until `json:"until,omitempty"`
	// Schemas are the versions of the rows of each projection.
	Schemas map[string]int `json:"schemas,omitempty"`
	// Missing is what the past had and nothing holds any more.
	Missing Missing `json:"missing,omitzero"`
	// BegunAt and CompletedAt are times of this machine; the second is zero while
	// the version is in the making.
	BegunAt     time.Time `json:"begunAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
}

// MaxMissingFiles bounds Missing.Files.
const MaxMissingFiles = 100

// Missing is what a version of the past lacks.
type Missing struct {
	// Documents counts the documents.
	Documents int `json:"documents"`
	// Files lists the paths of some of them, "repository: path".
	Files []string `json:"files,omitempty"`
}

// IsFrozen reports whether the version shows a moment of the past.
func (m *Meta) IsFrozen() bool { return m.Until != nil }

// ReadMeta returns what is known of the version in dir.
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

// WriteMeta says what the version in dir is, durably. It creates dir.
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

// DiskBytes returns the disk space that the files of a version take. Versions share files by
// hard links, with each other and with the segment store: the sum over them is
// more than the disk gives.
func DiskBytes(dir string) (int64, error) { return store.DiskBytes(context.Background(), dir) }
