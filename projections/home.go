package projections

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/projections/store"
)

// Home is the directory of the stores of an installation:
//
//	CURRENT            the name of the live store, one line
//	projections-<n>/   a store; at most one lives, others are rebuilt or left over
//
// CURRENT is replaced at once, so a process that dies leaves one store or the
// other live.
type Home struct{ dir string }

const (
	currentFile = "CURRENT"
	storePrefix = "projections-"
)

// OpenHome opens the directory and creates it if it is not there.
func OpenHome(dir string) (*Home, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("projections: %w", err)
	}
	return &Home{dir}, nil
}

// Current returns the directory of the live store. A new home gets one.
func (h *Home) Current() (string, error) {
	b, err := os.ReadFile(filepath.Join(h.dir, currentFile))
	if errors.Is(err, os.ErrNotExist) {
		first := filepath.Join(h.dir, storePrefix+"1")
		return first, h.Switch(first)
	}
	if err != nil {
		return "", fmt.Errorf("projections: %w", err)
	}
	name := strings.TrimSpace(string(b))
	if _, ok := storeNumber(name); !ok {
		return "", fmt.Errorf("projections: %s names %.80q, which is no store; write the name of a %s<n> directory into it, or remove it to start anew",
			filepath.Join(h.dir, currentFile), name, storePrefix)
	}
	return filepath.Join(h.dir, name), nil
}

func storeNumber(name string) (int, bool) {
	s, found := strings.CutPrefix(name, storePrefix)
	n, err := strconv.Atoi(s)
	return n, found && err == nil && n > 0
}

// Next returns the directory of a new store beside the live one. It does not
// exist yet.
func (h *Home) Next() (string, error) {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return "", fmt.Errorf("projections: %w", err)
	}
	highest := 0
	for _, e := range entries {
		if n, ok := storeNumber(e.Name()); ok {
			highest = max(highest, n)
		}
	}
	return filepath.Join(h.dir, storePrefix+strconv.Itoa(highest+1)), nil
}

// Switch makes the store in path, a directory that Next or Current returned, the
// live one for whoever opens the home from now on.
func (h *Home) Switch(path string) error {
	name := filepath.Base(path)
	if _, ok := storeNumber(name); !ok || filepath.Dir(path) != filepath.Clean(h.dir) {
		return fmt.Errorf("projections: %s is no store of %s", path, h.dir)
	}
	if err := h.writeCurrent(name); err != nil {
		return fmt.Errorf("projections: switch to %s: %w", path, err)
	}
	return nil
}

func (h *Home) writeCurrent(name string) (err error) {
	f, err := os.CreateTemp(h.dir, currentFile+"~")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(name + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(h.dir, currentFile)); err != nil {
		return err
	}
	dir, err := os.Open(h.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Clean removes the stores that are not live: left over by a rebuild, or by one
// that failed. One that another process still has open stays.
func (h *Home) Clean() error {
	current, err := h.Current()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(h.dir, e.Name())
		if _, ok := storeNumber(e.Name()); !ok || path == current {
			continue
		}
		if err := store.Remove(path); err != nil && !errors.Is(err, store.ErrLocked) {
			return fmt.Errorf("projections: clean: %w", err)
		}
	}
	return nil
}
