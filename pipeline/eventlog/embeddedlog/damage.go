package embeddedlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/projections/integrity"
)

// ErrDamaged says that the log does not hold what was written to it.
var ErrDamaged = errors.New("the event log is damaged")

// explainDamage makes an error about damaged files or records one that names the file, or
// the directory, and what helps.
func (l *Log) explainDamage(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) && !errors.Is(err, errCorrupt) && !errors.Is(err, integrity.ErrDamaged) {
		return err
	}
	path := l.dir
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		path = info.Path
	}
	// Pebble adds lines of details.
	cause, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%w: %s: %s; stop the server and restore %s from a backup; without one, see \"Damage\" in the manual of operations", ErrDamaged, path, cause, l.dir)
}

// CheckFiles reads the files of the open log from the disk at a pace, and reports each
// damaged one as ErrDamaged. It goes on after damage, until ctx ends. It first
// writes what is in memory to a table: what a damaged write-ahead log holds is then
// safe.
func (l *Log) CheckFiles(ctx context.Context, p *integrity.Pace, report func(path string, err error)) error {
	paths, err := l.flushedTables(ctx)
	if err != nil {
		return fmt.Errorf("check event log: %w", err)
	}
	if err := integrity.CheckRecords(l.dir); errors.Is(err, integrity.ErrDamaged) {
		report(l.dir, l.explainDamage(err))
	} else if err != nil {
		return fmt.Errorf("check event log: %w", err)
	}
	for _, path := range paths {
		err := integrity.CheckTable(ctx, path, p)
		switch {
		case errors.Is(err, integrity.ErrDamaged):
			report(path, l.explainDamage(err))
		case err != nil && !errors.Is(err, os.ErrNotExist): // compacted meanwhile
			return fmt.Errorf("check event log: %w", err)
		}
	}
	return nil
}

// flushedTables returns the paths of the tables, once what is in memory is in one.
func (l *Log) flushedTables(ctx context.Context) ([]string, error) {
	release, err := l.acquireDB()
	if err != nil {
		return nil, err
	}
	defer release()
	flushed, err := l.db.AsyncFlush()
	if err != nil {
		return nil, l.explainDamage(err)
	}
	select {
	case <-flushed:
	case <-ctx.Done(): // a full disk holds it up
		return nil, ctx.Err()
	}
	levels, err := l.db.SSTables()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, level := range levels {
		for _, t := range level {
			paths = append(paths, filepath.Join(l.dir, t.BackingSSTNum.String()+".sst"))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
