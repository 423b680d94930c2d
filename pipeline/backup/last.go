package backup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lastName is a file in a data directory that records its last backup.
const lastName = "last-backup.json"

// Last is the last backup of a data directory.
type Last struct {
	At         time.Time `json:"at"`
	Directory  string    `json:"directory"`
	Generation int       `json:"generation"`
}

// NoteLast records in a data directory that it was backed up.
func NoteLast(data, directory string, r *Result) error {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	b, err := json.Marshal(&Last{At: r.Manifest.CreatedAt, Directory: directory, Generation: r.Generation})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(data, lastName), append(b, '\n'))
}

// ReadLast returns the last backup of a data directory, or the zero Last if there is
// none.
func ReadLast(data string) (last Last, err error) {
	b, err := os.ReadFile(filepath.Join(data, lastName))
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &last)
	}
	return last, err
}
