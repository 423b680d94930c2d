package boot

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// renewed is a value that is read from files, and again after they have changed. It is safe for
// concurrent use.
type renewed[T any] struct {
	name  string // of the value, in errors
	files []string
	read  func() (T, error)
	now   func() time.Time
	mu    struct {
		sync.Mutex
		value   T
		changed []time.Time // the files, when value was read
		checked time.Time
	}
}

// readFiles reads the value if the files have changed since it was last read, and reports whether
// it is new.
func (r *renewed[T]) readFiles() (isNew bool, err error) {
	changed := make([]time.Time, len(r.files))
	for i, name := range r.files {
		info, err := os.Stat(name)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.name, err)
		}
		changed[i] = info.ModTime()
	}
	if slices.EqualFunc(changed, r.mu.changed, time.Time.Equal) {
		return false, nil
	}
	value, err := r.read()
	if err != nil {
		return false, err
	}
	r.mu.value, r.mu.changed = value, changed
	return true, nil
}

// current returns the value for a handshake, and whether it is new. On an error it is the last one:
// the files may be in the middle of their replacement.
func (r *renewed[T]) current() (value T, isNew bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.mu.checked) >= recheckCertificate {
		r.mu.checked = now
		isNew, err = r.readFiles()
	}
	return r.mu.value, isNew, err
}
