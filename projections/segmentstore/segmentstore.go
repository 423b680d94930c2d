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
	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors of every driver, in addition to code.ErrNotFound. Any other error means that the
// store is unavailable, and that the caller should retry.
var (
	// ErrName reports that a name is not valid for an object.
	ErrName = errors.New("invalid object name")
	// ErrTooLarge reports that an object exceeds the limit of the caller.
	ErrTooLarge = errors.New("object is too large")
	// ErrCorrupt reports that the bytes of an object are corrupted.
	ErrCorrupt = errors.New("corrupt object")
)

// MaxNameBytes bounds a name.
const MaxNameBytes = 128

// Info describes a stored object.
type Info struct {
	Name      string
	SizeBytes int64
	// ModTime is the time when the object was stored.
	ModTime time.Time
}

// Store stores immutable objects by name.
type Store interface {
	// Put stores the file at path under name, and removes the file. It returns when the
	// object is durable. If the name exists, Put keeps the existing object and removes
	// the file.
	Put(ctx context.Context, name, path string) error
	// PutBytes is a Put for a small object in memory. It does not retain b.
	PutBytes(ctx context.Context, name string, b []byte) error
	// Fetch copies the object to a file at path, which must not exist. The file may share
	// its storage with the object, so the caller must not write to it, but may remove it.
	// Fetch returns code.ErrNotFound if there is no object with that name.
	Fetch(ctx context.Context, name, path string) error
	// GetBytes returns an object of at most max bytes, ErrTooLarge if it is larger, and
	// code.ErrNotFound if there is none.
	GetBytes(ctx context.Context, name string, max int64) ([]byte, error)
	// Delete removes an object. It is not an error if the object does not exist.
	Delete(ctx context.Context, name string) error
	// Check reads the whole object at a limited pace. It returns ErrCorrupt if the object
	// is damaged, and code.ErrNotFound if there is none.
	Check(ctx context.Context, name string, p *integrity.Pace) error
	// Quarantine checks an object and, if it is damaged, removes it from the store, so
	// that an intact copy can be stored under its name. It reports whether it did so. The
	// damaged bytes are kept separately for a while.
	Quarantine(ctx context.Context, name string) (bool, error)
	// List yields the objects in the order of their names. It ends after an error.
	List(ctx context.Context) iter.Seq2[Info, error]
}

// Driver is a Store as the server opens it.
type Driver interface {
	Store
	// Identity returns the identity of the store, or code.ErrNotFound if it has none.
	Identity(ctx context.Context) (string, error)
	// WriteIdentity gives a store without an identity this one. If another process was
	// faster, the store keeps the identity of that process, which the caller must read.
	WriteIdentity(ctx context.Context, id string) error
	// RequireIdentity makes every operation fail with ErrOtherStore while the store has
	// another identity than want. An empty want requires nothing.
	RequireIdentity(want string)
	// Folder returns a store below this one, in the folder name. Its objects are not
	// listed, checked or held with those of this store; both have the same identity.
	Folder(name string) Store
	// IsEmpty reports whether the store has no objects besides its identity.
	IsEmpty(ctx context.Context) (bool, error)
	// Hold blocks deletions by this process until release is called: Delete returns
	// ErrHeld. Further calls of release do nothing.
	Hold() (release func())
	// NotifyQuarantine sets a function to call for each object that is moved to the
	// quarantine, with its name, its place there and the damage. It must be called before
	// the store is used.
	NotifyQuarantine(f func(name, place string, cause error))
	// EmptyQuarantine removes all damaged objects and returns their number.
	EmptyQuarantine(ctx context.Context) (int, error)
}

const (
	segmentPrefix  = "segment-"
	manifestPrefix = "manifest-"
	scipPrefix     = "scip-"
	mergePrefix    = "merge-"
)

// SegmentName returns the name of the segment with the given ID.
func SegmentName(id segment.ID) string { return segmentPrefix + id.String() }

// ParseSegmentName returns the ID of the segment stored under name, and reports whether
// name is the name of a segment.
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

// IsManifestName reports whether name begins as that of encoded changes does.
func IsManifestName(name string) bool { return strings.HasPrefix(name, manifestPrefix) }

// ScipName returns the name of a precise index of a repository with the given checksum, 32
// hexadecimal characters.
func ScipName(id code.RepositoryID, sum string) string {
	return fmt.Sprintf("%s%016x-%s", scipPrefix, uint64(id), sum)
}

// ParseScipName returns the repository of the precise index stored under name, and
// reports whether name is the name of such an index.
func ParseScipName(name string) (code.RepositoryID, bool) {
	id, sum, ok := splitScipName(name)
	return id, ok && len(sum) == sumBytes
}

// MergeName returns the name of the mark of a merge: an object that exists only if the
// SegmentsMerged at that position was applied, and not refused (docs/format/places.md).
func MergeName(at event.Position) string {
	return fmt.Sprintf("%s%08x-%016x", mergePrefix, uint32(at.Partition), uint64(at.Offset))
}

// IsMergeName reports whether name begins as the mark of a merge does.
func IsMergeName(name string) bool { return strings.HasPrefix(name, mergePrefix) }

// sumBytes is the number of characters of a checksum in a name.
const sumBytes = 32

func splitScipName(name string) (id code.RepositoryID, sum string, ok bool) {
	rest, found := strings.CutPrefix(name, scipPrefix)
	number, sum, cut := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(number, 16, 64)
	return code.RepositoryID(n), sum, found && cut && err == nil && len(number) == 16
}

// ValidateName returns ErrName if an object cannot have that name.
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
