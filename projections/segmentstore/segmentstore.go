package segmentstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Errors of every driver, in addition to code.ErrNotFound. Any other error means
// that the store cannot answer now: the caller retries.
var (
	// ErrName says that a name is none an object can have.
	ErrName = errors.New("invalid object name")
	// ErrTooLarge says that an object is larger than the caller takes.
	ErrTooLarge = errors.New("object is too large")
	// ErrCorrupt says that an object's bytes are not what was encoded.
	ErrCorrupt = errors.New("corrupt object")
)

// MaxNameBytes bounds a name.
const MaxNameBytes = 128

// Info describes a stored object.
type Info struct {
	Name      string
	SizeBytes int64
	// ModTime is when the object was put.
	ModTime time.Time
}

// Store holds immutable objects by name.
type Store interface {
	// Put stores the file at path under name and takes the file: it is gone
	// afterwards. It returns when the object is durable. If the name is taken,
	// the object there stays and the file is removed.
	Put(ctx context.Context, name, path string) error
	// PutBytes is Put for a small object in memory. It does not keep b.
	PutBytes(ctx context.Context, name string, b []byte) error
	// Fetch makes the object a file at path, which must not exist. The file may
	// share its storage with the object: the caller must not write to it, and may
	// remove it. code.ErrNotFound if there is no object of that name.
	Fetch(ctx context.Context, name, path string) error
	// GetBytes returns an object of at most max bytes, ErrTooLarge for a larger
	// one, code.ErrNotFound if there is none.
	GetBytes(ctx context.Context, name string, max int64) ([]byte, error)
	// Delete removes an object. Removing what is not there is no error.
	Delete(ctx context.Context, name string) error
	// Check reads an object at a pace, all of it, and returns ErrCorrupt if it is not
	// what was stored, code.ErrNotFound if there is none.
	Check(ctx context.Context, name string, p *integrity.Pace) error
	// Quarantine checks an object and, if it is damaged, takes it out of the store: the
	// name is then free for an intact copy. It reports whether it did so. The damaged
	// bytes are kept apart for a while.
	Quarantine(ctx context.Context, name string) (bool, error)
	// List yields the objects in the order of their names. An error ends it.
	List(ctx context.Context) iter.Seq2[Info, error]
}

const (
	segmentPrefix  = "segment-"
	manifestPrefix = "manifest-"
	scipPrefix     = "scip-"
)

// SegmentName returns the name of the segment with the given ID.
func SegmentName(id segment.ID) string { return segmentPrefix + id.String() }

// ParseSegmentName returns the ID of the segment stored under name, and whether
// name is one of a segment.
func ParseSegmentName(name string) (segment.ID, bool) {
	s, found := strings.CutPrefix(name, segmentPrefix)
	if !found {
		return segment.ID{}, false
	}
	id, err := segment.ParseID(s)
	return id, err == nil
}

// ManifestName returns the name of encoded changes with the given checksum, 32
// hexadecimal characters, as EncodeChanges returns it.
func ManifestName(sum string) string { return manifestPrefix + sum }

// ScipName returns the name of a precise index of a repository with the given checksum, 32
// hexadecimal characters.
func ScipName(id code.RepositoryID, sum string) string {
	return fmt.Sprintf("%s%016x-%s", scipPrefix, uint64(id), sum)
}

// ParseScipName returns the repository of the precise index stored under name, and whether
// name is one of such an index.
func ParseScipName(name string) (code.RepositoryID, bool) {
	id, sum, ok := splitScipName(name)
	return id, ok && len(sum) == sumBytes
}

// sumBytes are the characters of a checksum in a name.
const sumBytes = 32

func splitScipName(name string) (id code.RepositoryID, sum string, ok bool) {
	rest, found := strings.CutPrefix(name, scipPrefix)
	number, sum, cut := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(number, 16, 64)
	return code.RepositoryID(n), sum, found && cut && err == nil && len(number) == 16
}

// ValidateName returns ErrName if no object can have that name.
func ValidateName(name string) error {
	if name == "" || len(name) > MaxNameBytes || name[0] < 'a' || name[0] > 'z' {
		return fmt.Errorf("%w: %.80q: want 1 to %d bytes, the first a letter", ErrName, name, MaxNameBytes)
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return fmt.Errorf("%w: %.80q: byte %q is not allowed", ErrName, name, c)
		}
	}
	return nil
}
