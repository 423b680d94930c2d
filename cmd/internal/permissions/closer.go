package permissions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// MaxEntries bounds the number of files that a Closer visits: 2 million take several
// seconds, and 10,000 mirrors have a tenth of that.
const MaxEntries = 2_000_000

// errEnough ends a walk at the bound.
var errEnough = errors.New("too many files to look at")

// Closer removes the permissions of other users from files. The zero value is ready to
// use.
type Closer struct {
	// Progress is called after every progressEvery files. It may be nil.
	Progress func(looked int)

	Looked int // number of visited files and directories
	Closed int // number of these whose permissions were removed
	First  Access
	// Failed counts files that other users can still access, for example because they
	// have another owner. FirstFailed is one of them and Err its error.
	Failed      int
	FirstFailed Access
	Err         error
	// Truncated is set if there are more files than MaxEntries.
	Truncated bool

	max int // 0 means MaxEntries; set by tests
}

// progressEvery is the number of files between two calls of Closer.Progress.
const progressEvery = 100_000

// CloseEntry makes the file or directory at path private, and nothing below it. It skips
// missing files and symbolic links.
func (c *Closer) CloseEntry(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return // Walk, or the code that opens the file, reports the error
	}
	c.closeFile(path, info, func(mode fs.FileMode) error { return os.Chmod(path, mode) })
}

// CloseBelow makes everything below dir private, but not dir itself. It skips files that
// disappear in the meantime.
func (c *Closer) CloseBelow(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the permissions of files: %w", err)
	}
	defer func() { _ = root.Close() }() // opened only for reading
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) || name == "." && err == nil:
			return nil
		case err != nil:
			c.recordFailure(Access{Path: filepath.Join(dir, name)}, err)
			return nil
		}
		return c.closeWalked(root, dir, name, entry)
	})
	if errors.Is(err, errEnough) {
		c.Truncated, err = true, nil
	}
	if err != nil {
		return fmt.Errorf("look at the permissions of files: %w", err)
	}
	return nil
}

// closeWalked makes one file below root private. It does not follow symbolic links, which
// have no permissions of their own.
func (c *Closer) closeWalked(root *os.Root, dir, name string, entry fs.DirEntry) error {
	bound := c.max
	if bound == 0 {
		bound = MaxEntries
	}
	if c.Looked >= bound {
		return errEnough
	}
	if entry.Type()&fs.ModeSymlink != 0 {
		return nil
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		c.recordFailure(Access{Path: filepath.Join(dir, name)}, err)
		return nil
	}
	c.closeFile(filepath.Join(dir, name), info, func(mode fs.FileMode) error { return root.Chmod(path.Clean(name), mode) })
	return nil
}

// closeFile makes one file private with chmod, if other users can access it.
func (c *Closer) closeFile(path string, info fs.FileInfo, chmod func(fs.FileMode) error) {
	if c.Looked++; c.Looked%progressEvery == 0 && c.Progress != nil {
		c.Progress(c.Looked)
	}
	if !enforced || info.Mode()&otherBits == 0 {
		return
	}
	a := Access{path, info.Mode()}
	if owner, ours := ownerOf(info); !ours {
		c.recordFailure(a, fmt.Errorf("it belongs to user %d", owner))
		return
	}
	err := chmod(info.Mode() &^ otherBits)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		c.recordFailure(a, err)
	default:
		if c.Closed++; c.Closed == 1 {
			c.First = a
		}
	}
}

func (c *Closer) recordFailure(a Access, err error) {
	if c.Failed++; c.Failed == 1 {
		c.FirstFailed, c.Err = a, err
	}
}
