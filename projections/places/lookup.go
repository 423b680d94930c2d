package places

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MaxListed bounds the entries of one listing.
const MaxListed = 100000

// Place is one file of a ref.
type Place struct {
	Path      string
	Flags     code.Flags
	SizeBytes int64
	// Skipped is the reason why the file is not searchable; if set, there is no document.
	Skipped code.SkipReason
	// PartialSymbols is the reason why symbols of a searchable file are missing. Only
	// View.Skipped fills it in.
	PartialSymbols code.PartialReason
	// Document is the content of the file. Reader and Number are its location; Reader is
	// nil if no segment holds it.
	Document code.DocumentKey
	Reader   *segment.Reader
	Number   segment.DocID
}

// Entry is a name in a directory of a ref.
type Entry struct {
	Name      string
	Directory bool
	// For a file:
	SizeBytes int64
	Flags     code.Flags
	Language  code.Language
	Skipped   code.SkipReason
}

// refLevels returns the partition and levels of a ref, or code.ErrNotFound if there is
// none. An empty ref is the default branch.
func (v *View) refLevels(id code.RepositoryID, ref code.Ref) (*partitionView, levels, error) {
	repo := v.Repository(id)
	if repo == nil {
		return nil, nil, fmt.Errorf("places: repository %s: %w", id, code.ErrNotFound)
	}
	r, part := repo.Ref(ref), v.findPartition(repo.Partition)
	if r == nil || part == nil {
		return nil, nil, fmt.Errorf("places: ref %q of repository %s: %w", ref, id, code.ErrNotFound)
	}
	l, _, err := readLevels(part.snapshot, id, r.manifest)
	return part, l, err
}

// Lookup returns the file at a path of a ref, or code.ErrNotFound if there is none. An
// empty ref is the default branch.
func (v *View) Lookup(id code.RepositoryID, ref code.Ref, path string) (Place, error) {
	part, l, err := v.refLevels(id, ref)
	if err != nil {
		return Place{}, err
	}
	f, err := newFinder(part.snapshot, id)
	if err != nil {
		return Place{}, err
	}
	value := bytes.Clone(f.visibleValue(l, []byte(path)))
	if err := f.close(); err != nil {
		return Place{}, err
	}
	if value == nil {
		return Place{}, fmt.Errorf("places: path %q at %q of repository %s: %w", path, ref, id, code.ErrNotFound)
	}
	place, err := placeOf(path, value)
	if err != nil || place.Skipped != "" {
		return place, err
	}
	return place, part.locateDocument(&place)
}

func placeOf(path string, value []byte) (Place, error) {
	e, err := decodeEntry(value)
	return Place{Path: path, Flags: e.flags, SizeBytes: e.size, Skipped: e.skipped, Document: e.document}, err
}

// locateDocument finds the segment of the place's document.
func (pv *partitionView) locateDocument(place *Place) error {
	value, ok, err := pv.snapshot.Read(documentKey(kindDocument, pv.number, place.Document))
	if err != nil || !ok {
		return err
	}
	row, err := decodeDocumentRow(value)
	if err != nil {
		return err
	}
	if i, ok := pv.bySequence[row.firstHolder().sequence]; ok {
		place.Reader, place.Number = pv.segments[i].Reader, row.firstHolder().document
	}
	return nil
}

// Locate finds the document of a place that Files has returned for the repository: it sets
// Reader and Number, unless no segment holds the document.
func (v *View) Locate(id code.RepositoryID, place *Place) error {
	repo := v.Repository(id)
	if repo == nil {
		return fmt.Errorf("places: repository %s: %w", id, code.ErrNotFound)
	}
	return v.findPartition(repo.Partition).locateDocument(place)
}

// List returns the names in a directory of a ref, in byte order; "" is the root. It
// returns at most limit entries (MaxListed if limit is 0 or above it), and
// code.ErrNotFound if there is nothing below the directory. It skips the content of
// subdirectories, so its cost is proportional to the number of returned names.
func (v *View) List(ctx context.Context, id code.RepositoryID, ref code.Ref, directory string, limit int) ([]Entry, error) {
	part, l, err := v.refLevels(id, ref)
	if err != nil {
		return nil, err
	}
	w, err := newWalk(part.snapshot, id, l)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	prefix := strings.TrimSuffix(directory, "/")
	if prefix != "" {
		prefix += "/"
	}
	if limit <= 0 || limit > MaxListed {
		limit = MaxListed
	}
	var entries []Entry
	w.Seek(id, l, []byte(prefix))
	for w.Next() && bytes.HasPrefix(w.path, []byte(prefix)) && len(entries) < limit && ctx.Err() == nil {
		name, _, isDirectory := strings.Cut(string(w.path[len(prefix):]), "/")
		if isDirectory {
			entries = append(entries, Entry{Name: name, Directory: true})
			w.Seek(id, l, []byte(prefix+name+"0")) // the byte after '/'
			continue
		}
		e, err := decodeEntry(w.value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Name: name, SizeBytes: e.size, Flags: e.flags, Language: e.document.Language, Skipped: e.skipped})
	}
	if err := firstError(ctx.Err(), w.Close()); err != nil {
		return nil, err
	}
	if len(entries) == 0 && prefix != "" {
		return nil, fmt.Errorf("places: directory %q at %q of repository %s: %w", directory, ref, id, code.ErrNotFound)
	}
	return entries, nil
}

// Skipped returns at most limit (MaxListed if limit is 0 or above it) files of a ref that
// are not searchable or whose symbols are partial, in the order of their paths, starting
// after the path after. It walks the manifest, which takes about half a microsecond for
// each file passed.
func (v *View) Skipped(ctx context.Context, id code.RepositoryID, ref code.Ref, after string, limit int) ([]Place, error) {
	if limit <= 0 || limit > MaxListed {
		limit = MaxListed
	}
	part, _, err := v.refLevels(id, ref)
	if err != nil {
		return nil, err
	}
	partial, err := part.partialDocuments()
	if err != nil {
		return nil, err
	}
	var skipped []Place
	err = v.eachFile(ctx, id, ref, after, func(path, value []byte) (bool, error) {
		if value[0] != entrySkipped && partial == nil {
			return true, nil
		}
		place, err := placeOf(string(path), value)
		if err != nil {
			return false, err
		}
		if place.Skipped == "" {
			if place.PartialSymbols = partial[place.Document]; place.PartialSymbols == "" {
				return true, nil
			}
		}
		skipped = append(skipped, place)
		return len(skipped) < limit, nil
	})
	return skipped, err
}

// Files calls f for the files of a ref, in the order of their paths, starting after the
// path after, until f returns false. Places have no Reader.
func (v *View) Files(ctx context.Context, id code.RepositoryID, ref code.Ref, after string, f func(Place) bool) error {
	return v.eachFile(ctx, id, ref, after, func(path, value []byte) (bool, error) {
		place, err := placeOf(string(path), value)
		return err == nil && f(place), err
	})
}

// checkEvery is the number of rows between two checks of the context.
const checkEvery = 1024

func (v *View) eachFile(ctx context.Context, id code.RepositoryID, ref code.Ref, after string, f func(path, value []byte) (bool, error)) error {
	part, l, err := v.refLevels(id, ref)
	if err != nil {
		return err
	}
	w, err := newWalk(part.snapshot, id, l)
	if err != nil {
		return err
	}
	defer w.Close()
	if after != "" {
		w.Seek(id, l, append([]byte(after), 1)) // a path is followed by 0 in its key
	}
	for n := 1; w.Next(); n++ {
		if more, err := f(w.path, w.value); err != nil || !more {
			return err
		}
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return w.Close()
}
