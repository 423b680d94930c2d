package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// notesDir contains the notes, next to the mirrors.
const notesDir = "notes"

// Note returns the note stored by SetNote under a name. It fails with fs.ErrNotExist if
// there is none.
func (ms *Mirrors) Note(name string) ([]byte, error) {
	b, err := readSmall(filepath.Join(ms.o.Dir, notesDir, name))
	if err != nil {
		return nil, fmt.Errorf("note %s: %w", name, err)
	}
	return b, nil
}

// SetNote stores a small note about the mirrors of this directory, which is lost with
// them. The name must be a single path element. If SetNote fails, the previous note
// remains. It does not sync.
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

// readSmall reads a file that this package wrote, of at most maxSmallOutput bytes.
func readSmall(path string) ([]byte, error) { return readAtMost(path, maxSmallOutput) }

// readAtMost reads a file of at most limit bytes.
func readAtMost(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s: want a file of at most %d bytes", path, limit)
	}
	return os.ReadFile(path)
}
