package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// notesDir holds the notes, next to the mirrors.
const notesDir = "notes"

// Note returns what SetNote stored under a name. It fails with fs.ErrNotExist if
// there is nothing.
func (ms *Mirrors) Note(name string) ([]byte, error) {
	b, err := readSmall(filepath.Join(ms.o.Dir, notesDir, name))
	if err != nil {
		return nil, fmt.Errorf("note %s: %w", name, err)
	}
	return b, nil
}

// SetNote stores something small that is true of the mirrors of this directory,
// and is lost with them. Names are elements of paths. What was stored before
// stays if it fails. It does not wait for the disk.
func (ms *Mirrors) SetNote(name string, content []byte) error {
	path := filepath.Join(ms.o.Dir, notesDir, name)
	err := writeFile(path, content)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = writeFile(path, content)
		}
	}
	if err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return nil
}

// readSmall reads a file of ours of at most maxSmallOutput bytes.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSmallOutput {
		return nil, fmt.Errorf("%s: want a file of at most %d bytes", path, maxSmallOutput)
	}
	return os.ReadFile(path)
}
