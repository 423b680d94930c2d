package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/schemas/disk"
)

const (
	generationsDir = "generations"
	objectsDir     = "objects"
	// tempPrefix is the prefix of files that are still being written.
	tempPrefix = "~"
)

// Directory is a backup directory.
type Directory struct {
	path string
	lock *disk.Directory // nil if the directory was opened for reading
}

// Open opens a backup directory for reading.
func Open(path string) (*Directory, error) {
	d := &Directory{path: path}
	if info, err := os.Stat(d.generationsPath()); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no backup directory: it has no directory %s", path, generationsDir)
	}
	return d, nil
}

// Create opens a backup directory for writing. It creates the directory if it is missing
// or empty. The caller must close it.
func Create(path string) (*Directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the backup directory: %w", err)
	}
	if err := refuseOtherFiles(path, "LOCK", generationsDir, objectsDir); err != nil {
		return nil, fmt.Errorf("%w; give an empty directory, or one with backups", err)
	}
	lock, err := disk.LockDirectory(path)
	if errors.Is(err, disk.ErrHeld) {
		return nil, fmt.Errorf("another process writes to the backup directory %s: wait until it has ended", path)
	}
	if err != nil {
		return nil, err
	}
	d := &Directory{path: path, lock: lock}
	if err := d.prepareDirectories(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close unlocks the directory.
func (d *Directory) Close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// refuseOtherFiles returns an error if dir has entries other than the expected ones. It
// ignores lost+found, which a file system creates at its root.
func refuseOtherFiles(dir string, expected ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" && !slices.Contains(expected, e.Name()) {
			return fmt.Errorf("%s is not empty: it has %q", dir, e.Name())
		}
	}
	return nil
}

// prepareDirectories creates the directories and removes the partial files of a process
// that died.
func (d *Directory) prepareDirectories() error {
	for _, dir := range []string{d.objectsPath(), d.generationsPath()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), tempPrefix) {
				if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return syncDirectory(d.path)
}

func (d *Directory) generationsPath() string { return filepath.Join(d.path, generationsDir) }
func (d *Directory) objectsPath() string     { return filepath.Join(d.path, objectsDir) }

func (d *Directory) objectPath(s Sum) string {
	name := s.String()
	return filepath.Join(d.objectsPath(), name[:2], name)
}

func (d *Directory) manifestPath(generation int) string {
	return filepath.Join(d.generationsPath(), fmt.Sprintf("%06d", generation))
}

// Generations returns the numbers of the generations, oldest first.
func (d *Directory) Generations() ([]int, error) {
	entries, err := os.ReadDir(d.generationsPath())
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && d.manifestPath(n) == filepath.Join(d.generationsPath(), e.Name()) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Choose returns the generation with the given number, or the newest for 0.
func (d *Directory) Choose(generation int) (int, error) {
	all, err := d.Generations()
	if err != nil {
		return 0, err
	}
	switch {
	case len(all) == 0:
		return 0, fmt.Errorf("%s has no finished backup: run quarry backup again", d.path)
	case generation == 0:
		return all[len(all)-1], nil
	case !slices.Contains(all, generation):
		return 0, fmt.Errorf("%s has no generation %d: quarry restore --list shows those it has", d.path, generation)
	}
	return generation, nil
}

// Describe returns the head and the totals of a generation.
func (d *Directory) Describe(generation int) (Manifest, Totals, error) {
	return readManifest(d.manifestPath(generation), func(File) error { return nil })
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
