package projections

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/store"
)

// MaxVersions bounds the complete versions of a home: the live one and the previous one.
// One more may be under construction.
const MaxVersions = 2

// Home is the directory of the versions of an installation's projections:
//
//	CURRENT            the name of the live version, one line; in a second line
//	                   that of the version before it, if it is kept
//	projections-<n>/   a version: a store, and in it
//	  VERSION          the Meta of the version
//	  DAMAGED          the reason why the version must not be opened: damaged files
//	set-aside/         the last version that was damaged, at most one
//
// CURRENT is replaced atomically, with both names, so a crash leaves either the old or
// the new state. A version that CURRENT does not name was under construction when its
// process died; Clean removes it.
type Home struct{ dir string }

const (
	currentFile  = "CURRENT"
	storePrefix  = "projections-"
	damagedFile  = "DAMAGED"
	setAsideName = "set-aside"
)

// ErrNoPrevious reports that there is no previous version to switch back to.
var ErrNoPrevious = errors.New("no version of the projections is kept but the live one")

// Dir returns the directory.
func (h *Home) Dir() string { return h.dir }

// OpenHome opens the directory, and creates it if it does not exist.
func OpenHome(dir string) (*Home, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("projections: %w", err)
	}
	return &Home{dir}, nil
}

// Current returns the directory of the live version. In a new home, it creates one.
func (h *Home) Current() (string, error) {
	current, _, err := h.readCurrent()
	if err != nil || current != "" {
		return current, err
	}
	first := filepath.Join(h.dir, storePrefix+"1")
	return first, h.Switch(first)
}

// Previous returns the directory of the previous version, or "" if there is none.
func (h *Home) Previous() (string, error) {
	_, previous, err := h.readCurrent()
	return previous, err
}

// readCurrent reads CURRENT. Both results are empty in a new home.
func (h *Home) readCurrent() (current, previous string, err error) {
	b, err := os.ReadFile(filepath.Join(h.dir, currentFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("projections: %w", err)
	}
	first, second, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	for _, name := range []string{first, second} {
		if _, ok := storeNumber(name); !ok && (name == first || name != "") {
			return "", "", fmt.Errorf("projections: %w: %s names %.80q, which is no store; write the name of a %s<n> directory into it, or remove %s: the next start reads the log from its beginning",
				integrity.ErrDamaged, filepath.Join(h.dir, currentFile), name, storePrefix, filepath.Join(h.dir, currentFile))
		}
	}
	if second != "" && second != first {
		previous = filepath.Join(h.dir, second)
	}
	return filepath.Join(h.dir, first), previous, nil
}

func storeNumber(name string) (int, bool) {
	s, found := strings.CutPrefix(name, storePrefix)
	n, err := strconv.Atoi(s)
	return n, found && err == nil && n > 0
}

// Next returns the directory of a new version next to the existing ones. The directory
// does not exist yet.
func (h *Home) Next() (string, error) {
	versions, err := h.versionDirs()
	if err != nil {
		return "", err
	}
	highest := 0
	for _, path := range versions {
		n, _ := storeNumber(filepath.Base(path))
		highest = max(highest, n)
	}
	return filepath.Join(h.dir, storePrefix+strconv.Itoa(highest+1)), nil
}

// versionDirs returns the directories of all versions, including one under construction.
func (h *Home) versionDirs() ([]string, error) {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return nil, fmt.Errorf("projections: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if _, ok := storeNumber(e.Name()); ok {
			paths = append(paths, filepath.Join(h.dir, e.Name()))
		}
	}
	return paths, nil
}

// Switch makes the version in path, a directory that Next or Current returned, the live
// one for processes that open the home from now on. The version that was live becomes the
// previous one; Clean removes the earlier previous version. A version of the past does
// not replace a previous version that follows the log, because that takes longer to
// rebuild.
func (h *Home) Switch(path string) error {
	name := filepath.Base(path)
	if _, ok := storeNumber(name); !ok || filepath.Dir(path) != filepath.Clean(h.dir) {
		return fmt.Errorf("projections: %s is no store of %s", path, h.dir)
	}
	current, previous, err := h.readCurrent()
	if err != nil {
		return err
	}
	kept := current
	if current == path || path != previous && previous != "" && isFrozen(current) && !isFrozen(previous) {
		kept = previous
	}
	if err := h.writeCurrent(path, kept); err != nil {
		return fmt.Errorf("projections: switch to %s: %w", path, err)
	}
	return nil
}

// isFrozen reports whether the version in dir is known to show the past.
func isFrozen(dir string) bool {
	meta, err := ReadMeta(dir)
	return err == nil && meta.IsFrozen()
}

// Rollback swaps the live version and the previous one, so a second call undoes the
// first. It returns the directory that is live now, or ErrNoPrevious.
func (h *Home) Rollback() (string, error) {
	previous, err := h.Previous()
	if err != nil {
		return "", err
	}
	if previous == "" {
		return "", fmt.Errorf("projections: roll back %s: %w", h.dir, ErrNoPrevious)
	}
	return previous, h.Switch(previous)
}

// DropPrevious removes the previous version, if there is one.
func (h *Home) DropPrevious() error {
	current, previous, err := h.readCurrent()
	if err != nil || previous == "" {
		return err
	}
	if err := h.writeCurrent(current, ""); err != nil {
		return fmt.Errorf("projections: drop %s: %w", previous, err)
	}
	return h.Clean()
}

func (h *Home) writeCurrent(current, previous string) error {
	lines := filepath.Base(current) + "\n"
	if previous != "" {
		lines += filepath.Base(previous) + "\n"
	}
	return replaceFile(h.dir, currentFile, []byte(lines))
}

// replaceFile replaces the content of a file of dir atomically and durably.
func replaceFile(dir, name string, content []byte) (err error) {
	f, err := os.CreateTemp(dir, name+"~")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Clean removes the versions that CURRENT does not name: older ones, and those that a
// process left unfinished. It keeps versions that a process still has open.
func (h *Home) Clean() error {
	current, err := h.Current()
	if err != nil {
		return err
	}
	previous, err := h.Previous()
	if err != nil {
		return err
	}
	versions, err := h.versionDirs()
	if err != nil {
		return err
	}
	for _, path := range versions {
		if path == current || path == previous {
			continue
		}
		if err := store.Remove(path); err != nil && !errors.Is(err, store.ErrLocked) {
			return fmt.Errorf("projections: clean: %w", err)
		}
	}
	return nil
}
