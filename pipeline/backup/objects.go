package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyBytes is the size of the copy buffer.
const copyBytes = 1 << 20

// copyHashed copies r to w and returns the SHA-256 and the number of bytes.
func copyHashed(ctx context.Context, w io.Writer, r io.Reader) (s Sum, n int64, err error) {
	h := sha256.New()
	buf := make([]byte, copyBytes)
	// Hide the methods of r, so that io.CopyBuffer uses buf.
	n, err = io.CopyBuffer(io.MultiWriter(h, w), struct{ io.Reader }{contextReader{ctx, r}}, buf)
	h.Sum(s[:0])
	return s, n, err
}

// contextReader stops reading when ctx ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// openRegular opens a regular file for reading. It rejects other files: reading a FIFO
// would never end.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// hashFile returns the SHA-256 and the size of a file.
func hashFile(ctx context.Context, path string) (s Sum, n int64, err error) {
	f, _, err := openRegular(path)
	if err != nil {
		return s, 0, err
	}
	defer f.Close()
	return copyHashed(ctx, io.Discard, f)
}

// hasObject reports whether an object of that size exists. It does not check the bytes;
// Verify does.
func (d *Directory) hasObject(s Sum, size int64) bool {
	info, err := os.Lstat(d.objectPath(s))
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// putObject adds the file at path as an object, unless it exists. It returns when the
// object is durable.
func (d *Directory) putObject(ctx context.Context, path string) (f File, added bool, err error) {
	in, info, err := openRegular(path)
	if err != nil {
		return f, false, err
	}
	defer in.Close()
	out, err := os.CreateTemp(d.objectsPath(), tempPrefix)
	if err != nil {
		return f, false, err
	}
	defer func() {
		if err != nil || !added {
			_ = os.Remove(out.Name()) // if this fails, the next run removes the file
		}
	}()
	f.Modified = info.ModTime().UTC()
	f.SHA256, f.Size, err = copyHashed(ctx, out, in)
	if err != nil || d.hasObject(f.SHA256, f.Size) {
		return f, false, errors.Join(err, out.Close())
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return f, false, err
	}
	target := d.objectPath(f.SHA256)
	if err := os.Mkdir(filepath.Dir(target), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return f, false, err
	} else if err == nil {
		if err := syncDirectory(d.objectsPath()); err != nil {
			return f, false, err
		}
	}
	if err := os.Rename(out.Name(), target); err != nil {
		return f, false, err
	}
	return f, true, syncDirectory(filepath.Dir(target))
}
