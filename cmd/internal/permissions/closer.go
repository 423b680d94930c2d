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

// MaxEntries bounds the files that a Closer looks at: 2 million take some seconds,
// and 10,000 mirrors have a tenth of that.
const MaxEntries = 2_000_000

// errEnough ends a walk at the bound.
var errEnough = errors.New("too many files to look at")

// Closer takes the permissions of other users away from files. The zero value works.
type Closer struct {
	// Progress is called after every progressEvery files; nil: never.
	Progress func(looked int)

	Looked int // files and directories that were looked at
	Closed int // of these, closed now
	First  Access
	// Failed counts those that are still open, of other owners for example;
	// FirstFailed is one of them and Err says why.
	Failed      int
	FirstFailed Access
	Err         error
	// Truncated says that there are more files than MaxEntries.
	Truncated bool

	max int // MaxEntries unless a test sets it
}

// progressEvery is how often Closer.Progress is called.
const progressEvery = 100_000

// CloseEntry closes the file or directory at path, and nothing below it. A file that
// is not there, and a symbolic link, is left out.
func (c *Closer) CloseEntry(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return // Walk and the code that opens it report the error
	}
	c.closeFile(path, info, func(mode fs.FileMode) error { return os.Chmod(path, mode) })
}

// CloseBelow closes everything below dir, which itself stays as it is. Files that
// vanish meanwhile are left out.
func (c *Closer) CloseBelow(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the permissions of files: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
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

// closeWalked closes one file below root. Symbolic links have no permissions of
// their own, and are not followed.
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

// closeFile closes one file with chmod, if it is open.
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
