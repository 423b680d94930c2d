package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// A ledger stores the measurements of a program next to its index, so that work on the
// other program need not repeat them. Values from an earlier run are counted, and the
// report mentions them, because figures of two runs are not directly comparable.
type ledger struct {
	path string
	// replay returns figures from the ledger; otherwise the ledger is only written.
	replay  bool
	now     func() time.Time
	entries map[string]ledgerEntry
	// replayed counts the figures that were reused; oldest is the time of the oldest one.
	replayed int
	oldest   time.Time
}

type ledgerEntry struct {
	At     time.Time       `json:"at"`
	Figure json.RawMessage `json:"figure"`
}

// openLedger reads the ledger at path. A missing file is an empty ledger.
func openLedger(path string, replay bool) (*ledger, error) {
	l := &ledger{path: path, replay: replay, now: time.Now, entries: make(map[string]ledgerEntry)}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &l.entries)
	}
	if err != nil {
		return nil, fmt.Errorf("read the figures of an earlier run: %s: %w", path, err)
	}
	return l, nil
}

// get decodes an entry into figure, if it exists and may be reused.
func (l *ledger) get(key string, figure any) bool {
	entry, ok := l.entries[key]
	if !ok || !l.replay || json.Unmarshal(entry.Figure, figure) != nil {
		return false
	}
	l.replayed++
	if l.oldest.IsZero() || entry.At.Before(l.oldest) {
		l.oldest = entry.At
	}
	return true
}

// put writes an entry to disk immediately, so that an interrupted run keeps its results.
// Figures are few and slow to measure.
func (l *ledger) put(key string, figure any) error {
	encoded, err := json.Marshal(figure)
	if err != nil {
		return err
	}
	l.entries[key] = ledgerEntry{At: l.now().UTC().Truncate(time.Second), Figure: encoded}
	data, err := json.MarshalIndent(l.entries, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	next := l.path + ".next"
	if err := os.WriteFile(next, data, 0o644); err != nil {
		return err
	}
	return os.Rename(next, l.path)
}

// removeAll removes all entries, because the measured index was removed.
func (l *ledger) removeAll() error {
	l.entries = make(map[string]ledgerEntry)
	if err := os.Remove(l.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// recallOrMeasure returns the figure of an earlier run, or measures it. It never records
// an error.
func recallOrMeasure[T any](l *ledger, key string, measure func() (T, error)) (T, error) {
	var figure T
	if l.get(key, &figure) {
		return figure, nil
	}
	figure, err := measure()
	if err != nil {
		return figure, err
	}
	return figure, l.put(key, figure)
}

// listKey returns a key part that identifies a list of queries, for figures of a whole
// list.
func listKey(queries []suite.Query) string {
	h := fnv.New64a()
	for _, q := range queries {
		fmt.Fprintf(h, "%q %d\n", q.Text, q.Limit)
	}
	return fmt.Sprintf("%d-%016x", len(queries), h.Sum64())
}

// measureStep is recallOrMeasure for a figure with its own line in the report. If it
// fails, it adds the reason to the report and returns nil.
func measureStep[T any](b *bench, what string, l *ledger, key string, measure func() (T, error)) *T {
	figure, err := recallOrMeasure(l, key, measure)
	if err != nil {
		b.noteMissing("%s: %v", what, err)
		return nil
	}
	return &figure
}
