package ondisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Errors of this package.
var (
	// ErrRefused means that the repository contains something that is not read: a link
	// that leads out of it, or a file that is not regular.
	ErrRefused = errors.New("refused")
	// ErrNotRepository means that there is no git repository at the path.
	ErrNotRepository = errors.New("no git repository")
	// ErrTooLarge means that a file or a directory exceeds its bound.
	ErrTooLarge = errors.New("over the size limit")
)

// directory is a directory of the repository. Names are resolved below it.
type directory struct {
	root *os.Root
	// path is absolute. It is used in messages, and to resolve relative alternates.
	path string
}

func (d *directory) close() { _ = d.root.Close() }

// openFile opens a regular file. If the file is a FIFO, it does not wait for a writer.
func (d *directory) openFile(name string) (*os.File, fs.FileInfo, error) {
	info, err := d.root.Stat(name)
	if err != nil {
		return nil, nil, d.explainError(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, d.refuseKind(name, info.Mode())
	}
	// The file may have been replaced since.
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, d.explainError(name, err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = d.refuseKind(name, info.Mode())
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// readFile reads a regular file of at most limit bytes.
func (d *directory) readFile(name string, limit int64) ([]byte, error) {
	f, info, err := d.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, fmt.Errorf("%s of %d bytes, at most %d: %w", d.joinPath(name), info.Size(), limit, ErrTooLarge)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.joinPath(name), withoutPath(err))
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: more than %d bytes: %w", d.joinPath(name), limit, ErrTooLarge)
	}
	return b, nil
}

// openDirectory opens a directory below d.
func (d *directory) openDirectory(name string) (*directory, error) {
	root, err := OpenRoot(d.root, name)
	if err != nil {
		return nil, d.explainError(name, err)
	}
	return &directory{root: root, path: filepath.Join(d.path, name)}, nil
}

// eachEntry calls fn for the entries of a directory, at most limit, in no particular
// order. A missing directory has no entries.
func (d *directory) eachEntry(name string, limit int, fn func(fs.DirEntry) error) error {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return d.explainError(name, err)
	}
	defer f.Close()
	for n := 0; ; {
		entries, err := f.ReadDir(readDirChunk)
		if n += len(entries); n > limit {
			return fmt.Errorf("%s has more than %d entries: %w", d.joinPath(name), limit, ErrTooLarge)
		}
		for _, e := range entries {
			if err := fn(e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return d.explainError(name, err)
		}
	}
}

// listNames returns the names in a directory, or nil if there are more than limit or they
// cannot be listed.
func (d *directory) listNames(name string, limit int) map[string]bool {
	names := map[string]bool{}
	err := d.eachEntry(name, limit, func(e fs.DirEntry) error {
		names[e.Name()] = true
		return nil
	})
	if err != nil {
		return nil
	}
	return names
}

// joinPath returns the full path of a name, for messages.
func (d *directory) joinPath(name string) string {
	return filepath.Join(d.path, filepath.FromSlash(name))
}

// explainError converts an error of os.Root into one of this package, because os.Root
// does not report which link of a name led out of it.
func (d *directory) explainError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", d.joinPath(name), fs.ErrNotExist)
	}
	for prefix := name; prefix != "." && prefix != "/"; prefix = path.Dir(prefix) {
		if info, statErr := d.root.Lstat(prefix); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%w: %s is a symbolic link that leads out of the repository; links are followed within git's directory only", ErrRefused, d.joinPath(prefix))
		}
	}
	switch {
	case errors.Is(err, syscall.ENXIO): // for example a socket
		return d.refuseKind(name, fs.ModeSocket)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %s is not a directory", ErrRefused, d.joinPath(name))
	}
	return fmt.Errorf("%s: %w", d.joinPath(name), withoutPath(err))
}

func (d *directory) refuseKind(name string, mode fs.FileMode) error {
	kind := "no regular file"
	for _, k := range []struct {
		bit  fs.FileMode
		name string
	}{{fs.ModeDir, "a directory"}, {fs.ModeNamedPipe, "a FIFO"}, {fs.ModeSocket, "a socket"}, {fs.ModeDevice, "a device"}} {
		if mode&k.bit != 0 {
			kind = k.name
			break
		}
	}
	return fmt.Errorf("%w: %s is %s; only regular files are read", ErrRefused, d.joinPath(name), kind)
}

// withoutPath removes the operation and the path that the os package adds to an error.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// cutLine returns the first line of a small file.
func cutLine(b []byte) string {
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimRight(line, " \t\r")
}
