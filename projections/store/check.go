package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"

	"github.com/quarrysearch/quarry/projections/integrity"
)

// Files are the files of a store at one point in time. They can be checked while the
// store is in use, and after it is closed.
type Files struct {
	dir, remedy string
	tables      []tableFile
}

// tableFile is a sorted table, and the first key that the store reads from it.
type tableFile struct {
	path  string
	first []byte
}

// Files returns the current files of the store.
func (s *Store) Files() (*Files, error) {
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, fmt.Errorf("store: list tables: %w", err)
	}
	f := &Files{dir: s.dir, remedy: s.remedy}
	seen := map[string]bool{}
	for _, level := range levels {
		for _, t := range level {
			path := filepath.Join(s.dir, t.BackingSSTNum.String()+".sst")
			if t.BackingType == pebble.BackingTypeLocal && !seen[path] {
				seen[path] = true
				f.tables = append(f.tables, tableFile{path, t.Smallest.UserKey})
			}
		}
	}
	return f, nil
}

// Check reads the files from the disk at a limited pace, and reports damaged ones: the
// manifest, the write-ahead logs, and every table except those for which skip, called
// with the path and the first key, returns true. It continues after damage, until ctx
// ends. It ignores missing files, which were compacted.
func (f *Files) Check(ctx context.Context, p *integrity.Pace, skip func(path string, first []byte) bool, report func(*DamageError)) error {
	if err := integrity.CheckRecords(f.dir); errors.Is(err, integrity.ErrDamaged) {
		report(&DamageError{Path: f.dir, remedy: f.remedy, cause: err})
	} else if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, t := range f.tables {
		if skip(t.path, t.first) {
			continue
		}
		err := integrity.CheckTable(ctx, t.path, p)
		switch {
		case errors.Is(err, integrity.ErrDamaged):
			report(&DamageError{Path: t.path, First: t.first, remedy: f.remedy, cause: err})
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}
