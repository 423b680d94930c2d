package views

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Snapshots presents views of the places to the file view.
type Snapshots struct{ versions *versions.Versions }

var _ source.Index = Snapshots{}

// NewSnapshots returns the snapshots of the live version.
func NewSnapshots(v *versions.Versions) Snapshots { return Snapshots{v} }

// Snapshot implements source.Index.
func (s Snapshots) Snapshot(context.Context, code.RepositoryID) (source.Snapshot, error) {
	i := s.versions.Acquire()
	return snapshot{i.Places.Acquire(), i}, nil
}

type snapshot struct {
	*places.View
	index *versions.Version
}

var _ source.Snapshot = snapshot{}

// Release implements source.Snapshot.
func (s snapshot) Release() {
	s.View.Release()
	s.index.Release()
}

// Default implements source.Snapshot.
func (s snapshot) Default(id code.RepositoryID) code.Ref {
	if r := s.Repository(id); r != nil && r.Default != nil {
		return r.Default.Ref
	}
	return ""
}

// Commit implements source.Snapshot.
func (s snapshot) Commit(id code.RepositoryID, ref code.Ref) code.CommitID {
	if r := s.Repository(id); r != nil && ref != "" {
		if known := r.Ref(ref); known != nil {
			return known.Commit
		}
	}
	return ""
}

// Branches implements source.Snapshot.
func (s snapshot) Branches(id code.RepositoryID) []source.Branch {
	r := s.Repository(id)
	if r == nil {
		return nil
	}
	branches := make([]source.Branch, len(r.Refs))
	for i, ref := range r.Refs {
		branches[i] = source.Branch{Ref: ref.Ref, Commit: ref.Commit, Time: ref.CommitTime}
	}
	return branches
}

// RefAt implements source.Snapshot.
func (s snapshot) RefAt(id code.RepositoryID, commit code.CommitID) code.Ref {
	return source.RefAt(s.Branches(id), commit)
}

// File implements source.Snapshot.
func (s snapshot) File(_ context.Context, id code.RepositoryID, ref code.Ref, path string) (source.File, error) {
	place, err := s.Lookup(id, ref, path)
	if errors.Is(err, code.ErrNotFound) {
		err = source.ErrNoPath
	}
	if err != nil {
		return source.File{}, err
	}
	switch {
	case place.Skipped == code.SkipBinary:
		return source.File{}, fmt.Errorf("a file of %d bytes: %w", place.SizeBytes, source.ErrBinary)
	case place.Skipped == code.SkipSubmodule:
		return source.File{}, source.ErrSubmodule
	case place.Skipped != "":
		return source.File{}, &source.SkippedError{Reason: place.Skipped}
	case place.Reader == nil:
		return source.File{}, source.ErrNotIndexed
	}
	file := source.File{Language: place.Document.Language, PartialSymbols: place.Reader.Flags(place.Number).PartialSymbols()}
	if len(s.Commit(id, ref)) == 2*len(code.BlobID{}) {
		file.Blob = place.Document.Blob.String()
	}
	file.Text, err = place.Reader.Text(place.Number, nil)
	return file, err
}

// List implements source.Snapshot.
func (s snapshot) List(ctx context.Context, id code.RepositoryID, ref code.Ref, path string, limit int) ([]source.Entry, error) {
	if limit <= 0 || limit >= places.MaxListed {
		limit = places.MaxListed - 1
	}
	listed, err := s.View.List(ctx, id, ref, path, limit+1)
	switch {
	case errors.Is(err, code.ErrNotFound):
		return nil, source.ErrNoPath
	case err != nil:
		return nil, err
	case len(listed) > limit:
		return nil, fmt.Errorf("more than %d entries: %w", limit, source.ErrTooLarge)
	}
	entries := make([]source.Entry, len(listed))
	for i, e := range listed {
		entries[i] = source.Entry{Name: e.Name, Kind: source.KindBlob}
		switch {
		case e.Directory:
			entries[i].Kind = source.KindTree
		case e.Skipped == code.SkipSubmodule:
			entries[i].Kind = source.KindCommit
		}
	}
	return entries, nil
}

// Files implements source.Snapshot.
func (s snapshot) Files(ctx context.Context, id code.RepositoryID, ref code.Ref, limit int) ([]string, error) {
	var files []string
	err := s.View.Files(ctx, id, ref, "", func(p places.Place) bool {
		if p.Skipped != code.SkipSubmodule {
			files = append(files, p.Path)
		}
		return len(files) <= limit
	})
	if err == nil && len(files) > limit {
		err = fmt.Errorf("more than %d files: %w", limit, source.ErrTooLarge)
	}
	return files, err
}
