package embeddedlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
)

// TestTurnedBit turns a bit in each file of a log: either every record is read, or
// an error names the file and the remedy. No record is missing without a word.
func TestTurnedBit(t *testing.T) {
	const records = 60
	for _, pattern := range []string{"*.sst", "*.log", "MANIFEST-*"} {
		for place := range 8 {
			t.Run(fmt.Sprintf("%s %d", pattern, place), func(t *testing.T) {
				dir := t.TempDir()
				for range 3 { // the later ones make tables of what the first wrote
					l, err := Open(dir, Options{})
					if err != nil {
						t.Fatal(err)
					}
					for i := range records / 3 {
						rec := event.Record{Key: []byte("key"), Value: fmt.Appendf(nil, "record %d", i)}
						if _, err := l.Append(t.Context(), event.TopicEvents, 0, rec); err != nil {
							t.Fatal(err)
						}
					}
					if err := l.Close(); err != nil {
						t.Fatal(err)
					}
				}
				files, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil || len(files) == 0 {
					t.Fatal(files, err)
				}
				path := files[len(files)-1]
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				b[len(b)*(2*place+1)/16] ^= 1 << place
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				n, err := countRecords(t, dir)
				if err == nil && n == records {
					return // the bit was of no use
				}
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "restore "+dir+" from a backup") || strings.Contains(err.Error(), "\n") {
					t.Errorf("bit %d of byte %d of %s: %d records of %d, %v", place, len(b)*(2*place+1)/16, path, n, records, err)
				}
			})
		}
	}
}

// countRecords reads a log to its end.
func countRecords(t *testing.T, dir string) (n int, err error) {
	l, err := Open(dir, Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	high, err := l.HighWater(t.Context(), event.TopicEvents)
	if err != nil {
		return 0, err
	}
	r, err := l.Tail(t.Context(), event.TopicEvents, 0, 0)
	if err != nil {
		return 0, err
	}
	for ; event.Offset(n) < high[0]; n++ {
		if _, err := r.Next(t.Context()); err != nil {
			return n, err
		}
	}
	return n, r.Close()
}
