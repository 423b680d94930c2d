package projections

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quarrysearch/quarry/projections/integrity"
)

// MarkDamaged durably records in the directory of a version that its files are damaged,
// so that the next process does not open it. Damage that was found while reading may not
// be detected when the version is opened.
func MarkDamaged(dir string, reason error) error {
	text, _, _ := strings.Cut(reason.Error(), "\n")
	if err := replaceFile(dir, damagedFile, []byte(text+"\n")); err != nil {
		return fmt.Errorf("projections: mark %s as damaged: %w", dir, err)
	}
	return nil
}

// CheckMark returns integrity.ErrDamaged if the version in dir was marked as damaged.
func CheckMark(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, damagedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(fmt.Errorf("%w: %s was marked by the last process: %.1000s", integrity.ErrDamaged, dir, strings.TrimSpace(string(b))), err)
}

// RepairCurrent handles a damaged CURRENT file: it rewrites the file to name the version
// with the highest number. Incomplete versions and versions that show the past are
// ignored. If no version remains, Current creates a new one.
func (h *Home) RepairCurrent() error {
	next, err := h.Next()
	if err != nil {
		return err
	}
	versions, err := h.versionDirs()
	if err != nil {
		return err
	}
	best, highest := next, 0
	for _, path := range versions {
		meta, err := ReadMeta(path)
		made := err == nil && (meta.BegunAt.IsZero() || !meta.CompletedAt.IsZero())
		if n, _ := storeNumber(filepath.Base(path)); made && !meta.IsFrozen() && n > highest {
			best, highest = path, n
		}
	}
	if err := os.RemoveAll(filepath.Join(h.dir, currentFile)); err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	if err := h.writeCurrent(best, ""); err != nil {
		return fmt.Errorf("projections: repair %s: %w", filepath.Join(h.dir, currentFile), err)
	}
	return nil
}

// SetAside moves the live version, which must be closed and damaged, out of the way, so
// that Current creates a new one. It replaces a version that was set aside earlier.
func (h *Home) SetAside() (aside string, err error) {
	current, err := h.Current()
	if err != nil {
		return "", err
	}
	if err := h.DropSetAside(); err != nil {
		return "", err
	}
	aside = filepath.Join(h.dir, setAsideName)
	if err := os.Rename(current, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("projections: set %s aside: %w", current, err)
	}
	return aside, nil
}

// AsidePath returns the directory of the version that was set aside, or "" if there is
// none.
func (h *Home) AsidePath() (string, error) {
	aside := filepath.Join(h.dir, setAsideName)
	_, err := os.Lstat(aside)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return aside, err
}

// DropSetAside removes the version that was set aside, if there is one.
func (h *Home) DropSetAside() error {
	if err := os.RemoveAll(filepath.Join(h.dir, setAsideName)); err != nil {
		return fmt.Errorf("projections: drop the version that was set aside: %w", err)
	}
	return nil
}
