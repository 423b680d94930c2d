package snapshots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Folder is the folder of the snapshots in the segment store.
const Folder = "snapshots"

const (
	// unfinishedAge is the age from which a snapshot without a manifest is left over from a
	// process that died.
	unfinishedAge = 24 * time.Hour
	// holdsFresh is the age up to which a list of the snapshots is good enough to decide
	// whether one names a segment.
	holdsFresh = 2 * time.Second
	// SettleTime is the time after which no process deletes by a list from before: that age, and the
	// time of a deletion.
	SettleTime = holdsFresh + time.Second
)

// Options are the options of New. All but Settle are required.
type Options struct {
	// Store is the segment store.
	Store segmentstore.Driver
	// Log is compared with the log of a snapshot.
	Log projections.Tailer
	// TempDir is the directory of tables that are being written. It need not exist.
	TempDir string
	// Creator names this process in manifests.
	Creator string
	// Settle waits for SettleTime; nil if no other process deletes segments.
	Settle func(ctx context.Context) error
	Logger *slog.Logger
	Now    func() time.Time
}

// Archive holds the snapshots of an installation.
type Archive struct {
	o       Options
	objects segmentstore.Store
	newName func(begun time.Time) string
	// creating is held while a snapshot is created.
	creating sync.Mutex
	mu       struct {
		sync.Mutex
		// cancel ends the creation of a snapshot; nil if there is none.
		cancel context.CancelFunc
		// manifests and held hold decoded objects by the name of their snapshot. Objects
		// never change.
		manifests map[string]*Manifest
		held      map[string]map[segment.ID]bool
		// backup reports whether a process holds the store for a backup.
		backup bool
		// heldAt is the time at which held and backup were compared with the store.
		heldAt time.Time
	}
}

// New returns an Archive. It reads nothing.
func New(o Options) *Archive {
	a := &Archive{o: o, objects: o.Store.Folder(Folder), newName: newName}
	a.mu.manifests, a.mu.held = map[string]*Manifest{}, map[string]map[segment.ID]bool{}
	return a
}

// Snapshot is an entry of a list.
type Snapshot struct {
	Name string
	// BegunAt is the time in the name.
	BegunAt time.Time
	// Manifest is nil if it cannot be used; Problem tells why.
	Manifest *Manifest
	Problem  string
}

// objectNames returns the kinds of objects of each snapshot.
func (a *Archive) objectNames(ctx context.Context) (map[string][]string, error) {
	found := map[string][]string{}
	for info, err := range a.objects.List(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list the snapshots: %w", err)
		}
		if name, kind, ok := splitObject(info.Name); ok {
			found[name] = append(found[name], kind)
		}
	}
	return found, nil
}

// List returns the snapshots, newest first. It reads the manifests, not the tables. It has no bound:
// Prune bounds the snapshots of each partition, and an erasure must find all.
func (a *Archive) List(ctx context.Context) ([]Snapshot, error) {
	found, err := a.objectNames(ctx)
	if err != nil {
		return nil, err
	}
	var list []Snapshot
	for name := range found {
		_, at, _ := ParseName(name)
		list = append(list, Snapshot{Name: name, BegunAt: at})
	}
	slices.SortFunc(list, func(x, y Snapshot) int { return cmp.Or(y.BegunAt.Compare(x.BegunAt), strings.Compare(y.Name, x.Name)) })
	for i := range list {
		s := &list[i]
		if s.Manifest, err = a.readManifest(ctx, s.Name, found[s.Name]); err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnsuitable) {
				return nil, err
			}
			s.Problem = err.Error()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.mu.manifests {
		if _, ok := found[name]; !ok {
			delete(a.mu.manifests, name)
		}
	}
	return list, nil
}

// readManifest reads the manifest of a snapshot that has objects of these kinds.
func (a *Archive) readManifest(ctx context.Context, name string, kinds []string) (*Manifest, error) {
	if format, _, _ := ParseName(name); format > Format {
		return nil, fmt.Errorf("%w: it has format version %d, this program reads up to %d", ErrUnsuitable, format, Format)
	}
	if !slices.Contains(kinds, manifestSuffix) {
		return nil, fmt.Errorf("%w: it is incomplete: it is being created, or its creation was interrupted", ErrDamaged)
	}
	if !slices.Contains(kinds, segmentsSuffix) {
		return nil, fmt.Errorf("%w: the list of its segments is missing", ErrDamaged)
	}
	a.mu.Lock()
	known := a.mu.manifests[name]
	a.mu.Unlock()
	if known != nil {
		return known, nil
	}
	b, err := a.readObject(ctx, name+manifestSuffix, MaxManifestBytes)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(name, b)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.manifests[name] = m
	return m, nil
}

// readObject returns an object. One that is missing, too large or corrupt is damage of the
// snapshot; any other error is one of the store.
func (a *Archive) readObject(ctx context.Context, object string, max int64) ([]byte, error) {
	b, err := a.objects.GetBytes(ctx, object, max)
	return b, asDamage(err)
}

// asDamage wraps ErrDamaged around the errors that the object itself causes.
func asDamage(err error) error {
	for _, of := range []error{code.ErrNotFound, segmentstore.ErrTooLarge, segmentstore.ErrCorrupt} {
		if errors.Is(err, of) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}

// Find returns the snapshot with a name. The error wraps code.ErrNotFound.
func (a *Archive) Find(ctx context.Context, name string) (Snapshot, error) {
	list, err := a.List(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	i := slices.IndexFunc(list, func(s Snapshot) bool { return s.Name == name })
	if i < 0 {
		return Snapshot{}, fmt.Errorf("snapshot %.80q: %w", name, code.ErrNotFound)
	}
	return list[i], nil
}

// Delete deletes a snapshot. The error wraps code.ErrNotFound if there is none.
func (a *Archive) Delete(ctx context.Context, name string) error {
	found, err := a.objectNames(ctx)
	if err != nil {
		return err
	}
	kinds, ok := found[name]
	if !ok {
		return fmt.Errorf("snapshot %.80q: %w", name, code.ErrNotFound)
	}
	return a.deleteObjects(ctx, name, kinds)
}

// deleteObjects deletes the objects of a snapshot: the manifest first, and the list of
// segments last, so that it is neither used nor forgotten after a crash.
func (a *Archive) deleteObjects(ctx context.Context, name string, kinds []string) error {
	rank := map[string]int{manifestSuffix: -1, segmentsSuffix: 1} // tables: 0
	slices.SortFunc(kinds, func(x, y string) int { return cmp.Or(cmp.Compare(rank[x], rank[y]), strings.Compare(x, y)) })
	for _, kind := range kinds {
		if err := a.objects.Delete(ctx, name+kind); err != nil {
			return fmt.Errorf("delete snapshot %s: %w", name, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.mu.manifests, name)
	delete(a.mu.held, name)
	return nil
}

// Prune deletes all but the newest keep snapshots that can be used, of each partition and of
// all partitions together, and those without a manifest that are older than a day or have no list
// of segments: an erasure has deleted it while a process wrote tables. It keeps snapshots of later
// formats. It returns the names of what it has deleted.
func (a *Archive) Prune(ctx context.Context, keep int) (deleted []string, err error) {
	list, err := a.List(ctx)
	if err != nil {
		return nil, err
	}
	whole, newer := 0, map[int32]int{} // the snapshots that are newer: whole ones, and those of each partition
	for _, s := range list {
		format, _, _ := ParseName(s.Name)
		needed := format > Format
		if !needed && s.Manifest == nil && a.o.Now().Sub(s.BegunAt) < unfinishedAge {
			_, err := a.readSegments(ctx, s.Name)
			needed = !errors.Is(err, code.ErrNotFound)
		}
		if m := s.Manifest; m != nil {
			if m.IsWhole() {
				whole++
				needed = whole <= keep
			}
			for _, p := range m.Partitions {
				newer[p]++
				needed = needed || newer[p] <= keep
			}
		}
		if needed {
			continue
		}
		if err := a.Delete(ctx, s.Name); err != nil && !errors.Is(err, code.ErrNotFound) {
			return deleted, err
		}
		deleted = append(deleted, s.Name)
	}
	return deleted, nil
}

// DeleteBefore deletes the snapshots that have not applied the record at a position, and
// those that cannot be read: they may contain what the record erases. It ends the creation
// of a snapshot in this process.
func (a *Archive) DeleteBefore(ctx context.Context, at event.Position) error {
	a.mu.Lock()
	if a.mu.cancel != nil {
		a.mu.cancel()
	}
	a.mu.Unlock()
	a.creating.Lock()
	defer a.creating.Unlock()
	list, err := a.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if m := s.Manifest; m != nil && int(at.Partition) < len(m.Positions) && m.Positions[at.Partition].Next > at.Offset {
			continue
		}
		if err := a.Delete(ctx, s.Name); err != nil && !errors.Is(err, code.ErrNotFound) {
			return err
		}
		a.o.Logger.Info("deleted a snapshot: it is older than an erasure", "snapshot", s.Name, "position", at.String())
	}
	return nil
}
