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

// TestTurnedBit flips a bit in each file of a log: either every record can be read, or an
// error names the file and the remedy. No record disappears silently.
func TestTurnedBit(t *testing.T) {
	const records = 60
	for _, pattern := range []string{"*.sst", "*.log", "MANIFEST-*"} {
		for place := range 8 {
			t.Run(fmt.Sprintf("%s %d", pattern, place), func(t *testing.T) {
				dir := t.TempDir()
				for range 3 { // later rounds turn the log of the first into tables
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
					return // the bit was unused
				}
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "restore "+dir+" from a backup") || strings.Contains(err.Error(), "\n") {
					t.Errorf("bit %d of byte %d of %s: %d records of %d, %v", place, len(b)*(2*place+1)/16, path, n, records, err)
				}
			})
		}
	}
}

// TestCheckFiles flips a bit in each file of an open log: the check finds it, although
// the log still works from memory.
func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 10 {
		if _, err := l.Append(t.Context(), event.TopicEvents, 0, event.Record{Value: []byte("a record")}); err != nil {
			t.Fatal(err)
		}
	}
	check := func() (found []string) {
		if err := l.CheckFiles(t.Context(), nil, func(path string, err error) {
			found = append(found, path)
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := check(); len(found) > 0 {
		t.Fatalf("damaged: %s", found)
	}
	for _, pattern := range []string{"*.sst", "MANIFEST-*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		path := files[len(files)-1]
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		turn := func() {
			b[len(b)/3] ^= 2
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteAt(b[len(b)/3:][:1], int64(len(b)/3))
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		turn()
		if found := check(); len(found) != 1 || filepath.Dir(found[0]) != dir && found[0] != dir {
			t.Errorf("%s: damaged: %q", path, found)
		}
		turn()
	}
}

// countRecords reads a log to its end.
func countRecords(t *testing.T, dir string) (n int, err error) {
	l, err := Open(dir, Options{DiskFull: func() {}})
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
