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

// ErrDamaged means that the log's files are damaged.
var ErrDamaged = errors.New("the event log is damaged")

// explainDamage converts an error about damaged files or records into one that names the
// file, or the directory, and the remedy.
func (l *Log) explainDamage(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) && !errors.Is(err, errCorrupt) && !errors.Is(err, integrity.ErrDamaged) {
		return err
	}
	path := l.dir
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		path = info.Path
	}
	// Pebble appends lines of details.
	cause, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%w: %s: %s; stop the server and restore %s from a backup; without one, see \"Damage\" in the manual of operations", ErrDamaged, path, cause, l.dir)
}

// CheckFiles reads the files of the open log from disk at a limited rate, and reports
// each damaged one as ErrDamaged. It continues after damage, until ctx ends. It first
// writes the memory tables to disk, so that damage of the write-ahead log can no longer
// lose their records.
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
		case err != nil && !errors.Is(err, os.ErrNotExist): // compacted in the meantime
			return fmt.Errorf("check event log: %w", err)
		}
	}
	return nil
}

// flushedTables flushes the memory tables and returns the paths of all tables.
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
	case <-ctx.Done(): // a full disk can delay the flush
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
