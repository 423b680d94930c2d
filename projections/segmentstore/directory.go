package segmentstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Directory stores objects as files of one directory. Several processes of one user may
// share it, on one machine or over a network file system. Other users cannot read its
// files.
type Directory struct {
	dir   string
	holds deletionHolds
	// quarantined is called for each object that was moved to the quarantine.
	quarantined func(name, path string, cause error)
	identity    *requiredIdentity // shared by its folders
}

var _ Driver = (*Directory)(nil)

// Hold implements Driver.
func (d *Directory) Hold() (release func()) { return d.holds.Hold() }

// tempPrefix begins the names of unfinished files. An object cannot have such a name,
// because '~' is not allowed in one.
const tempPrefix = "~"

// tempAge is the age from which an unfinished file is assumed to belong to a crashed
// process. Another process may still be writing a younger one.
const tempAge = time.Hour

// OpenDirectory opens the directory, creates it if it does not exist, and removes
// unfinished files of crashed writers.
func OpenDirectory(dir string) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("segment store: %w", err)
	}
	d := &Directory{dir: dir, quarantined: func(string, string, error) {}}
	d.identity = &requiredIdentity{store: dir, read: d.readIdentity}
	if err := d.removeLeftovers(time.Now().Add(-tempAge)); err != nil {
		return nil, fmt.Errorf("segment store %s: %w", dir, err)
	}
	if err := d.pruneQuarantine(time.Now()); err != nil {
		return nil, fmt.Errorf("segment store %s: %w", dir, err)
	}
	return d, nil
}

func (d *Directory) removeLeftovers(before time.Time) error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().After(before) {
			continue
		}
		if err := errors.Join(err, os.Remove(filepath.Join(d.dir, e.Name()))); err != nil {
			return err
		}
	}
	return nil
}

// Put implements Store. Within one file system, it moves the file.
func (d *Directory) Put(ctx context.Context, name, path string) error {
	return d.storeObject(ctx, name, func(target string) error {
		if fileExists(target) {
			return os.Remove(path)
		}
		if err := errors.Join(d.ensureDirectory(), sealFile(path)); err != nil {
			return err
		}
		if err := d.publishFile(path, target); !errors.Is(err, syscall.EXDEV) {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		if err := d.write(target, in); err != nil {
			return err
		}
		return os.Remove(path)
	})
}

// PutBytes implements Store.
func (d *Directory) PutBytes(ctx context.Context, name string, b []byte) error {
	return d.storeObject(ctx, name, func(target string) error {
		if err := d.ensureDirectory(); err != nil || fileExists(target) {
			return err
		}
		return d.write(target, bytes.NewReader(b))
	})
}

// storeObject calls store with the path of an object. It checks the identity before and
// after, because the file system may be unmounted in between.
func (d *Directory) storeObject(ctx context.Context, name string, store func(target string) error) error {
	target, err := d.objectPath(name)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = d.identity.check(ctx)
	}
	if err == nil {
		err = store(target)
	}
	if err == nil {
		err = d.identity.check(ctx)
	}
	if err != nil {
		return fmt.Errorf("segment store: put %s: %w", name, err)
	}
	return nil
}

// ensureDirectory creates the directory again if it was removed while the process runs.
func (d *Directory) ensureDirectory() error { return os.MkdirAll(d.dir, 0o700) }

// publishFile durably moves the synced file at path to target, unless an object already
// exists. A rename would replace an object that another writer stored in the meantime,
// and a reader that is just linking the replaced file would fail.
func (d *Directory) publishFile(path, target string) error {
	err := os.Link(path, target)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		// The file system has no hard links, so no other process links either.
		err = os.Rename(path, target)
		return errors.Join(err, syncDir(d.dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errors.Join(os.Remove(path), syncDir(d.dir))
}

// write atomically and durably writes the content of r to the file target.
func (d *Directory) write(target string, r io.Reader) (err error) {
	f, err := os.CreateTemp(d.dir, tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = io.Copy(f, r)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return d.publishFile(f.Name(), target)
}

// Fetch implements Store. Within one file system, it creates a hard link.
func (d *Directory) Fetch(ctx context.Context, name, path string) error {
	if err := d.fetchFile(ctx, name, path); err != nil {
		return fmt.Errorf("segment store: fetch %s: %w", name, d.identity.confirmMissing(ctx, notFound(err)))
	}
	return nil
}

func (d *Directory) fetchFile(ctx context.Context, name, path string) error {
	source, err := d.objectPath(name)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err = os.Link(source, path)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return err
	}
	return copyFile(source, path)
}

func copyFile(source, path string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// GetBytes implements Store.
func (d *Directory) GetBytes(ctx context.Context, name string, max int64) ([]byte, error) {
	b, err := d.readObject(ctx, name, max)
	if err != nil {
		return nil, fmt.Errorf("segment store: get %s: %w", name, d.identity.confirmMissing(ctx, notFound(err)))
	}
	return b, nil
}

func (d *Directory) readObject(ctx context.Context, name string, max int64) ([]byte, error) {
	path, err := d.objectPath(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > max {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, info.Size(), max)
	}
	b := make([]byte, info.Size())
	_, err = io.ReadFull(f, b)
	return b, err
}

// Delete implements Store.
func (d *Directory) Delete(ctx context.Context, name string) error {
	path, err := d.objectPath(name)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = d.identity.check(ctx)
	}
	if err == nil {
		err = d.holds.unlessHeld(func() error { return errors.Join(d.emptyQuarantine(name), os.Remove(path)) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("segment store: delete %s: %w", name, err)
	}
	return nil
}

// List implements Store. It fails at the end if this is not the required store.
func (d *Directory) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for info, err := range d.list(ctx) {
			if !yield(info, err) || err != nil {
				return
			}
		}
		if err := d.identity.check(ctx); err != nil {
			yield(Info{}, fmt.Errorf("segment store: list: %w", err))
		}
	}
}

func (d *Directory) list(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		entries, err := os.ReadDir(d.dir)                  // sorted
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // if the directory was removed, there are no objects
			yield(Info{}, fmt.Errorf("segment store: list: %w", err))
			return
		}
		for _, e := range entries {
			if ValidateName(e.Name()) != nil || e.IsDir() {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted in the meantime
			}
			if err = errors.Join(err, ctx.Err()); err != nil {
				yield(Info{}, fmt.Errorf("segment store: list: %w", err))
				return
			}
			if !yield(Info{Name: e.Name(), SizeBytes: info.Size(), ModTime: info.ModTime()}, nil) {
				return
			}
		}
	}
}

func (d *Directory) objectPath(name string) (string, error) {
	if err := ValidateName(name); err != nil {
		return "", err
	}
	return filepath.Join(d.dir, name), nil
}

func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return code.ErrNotFound
	}
	return err
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sealFile makes a file private, whoever wrote it, and durable.
func sealFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
