package ondisk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Objects is a copy of the objects of a repository, in the object directory of
// another one. With nothing but Directory and MaxBytes it knows nothing of what it
// copied before, and compares all of it.
type Objects struct {
	// Directory is where the copies are.
	Directory string
	// MaxBytes bounds the packs of the copy and what one Update adds to it.
	MaxBytes int64
	// RemoveAfter is how long a file has to be absent from the repository before its
	// copy is removed. git moves objects between files while they are listed, so a
	// file that seems absent once may have been replaced by one not seen yet.
	RemoveAfter time.Duration

	// paths are the object directories that were copied.
	paths []string
	// copied is the modification time that a directory of the repository had when it
	// was last copied, by its path.
	copied map[string]time.Time
	// absent is when a file of the copy was first absent from the repository.
	absent map[string]time.Time
}

// racyAge is how old a change of a directory has to be for its time to prove that
// nothing was added after it was listed: the clocks of file systems are coarse.
const racyAge = 2 * time.Second

// tempPrefix begins the names of files that are being copied.
const tempPrefix = "tmp_quarry_"

// Update makes the copy equal to the objects of r: new files are copied, files that
// r no longer has are removed. It returns the bytes that it copied. What it had
// copied before an error stays. It fails with ErrRefused or ErrTooLarge.
func (o *Objects) Update(ctx context.Context, r *Repository) (int64, error) {
	paths := make([]string, len(r.objects))
	for i, d := range r.objects {
		paths[i] = d.path
	}
	if o.copied == nil || !slices.Equal(o.paths, paths) {
		o.copied, o.absent, o.paths = map[string]time.Time{}, map[string]time.Time{}, paths
	}
	present, err := listCopies(filepath.Join(o.Directory, "pack"))
	if err != nil {
		return 0, err
	}
	u := update{o: o, ctx: ctx, r: r, left: o.MaxBytes}
	for _, size := range present {
		u.left -= size // packs that are no longer wanted take space until they are removed
	}
	room := u.left
	for n := range 257 {
		// Packs last: git packs loose objects before it removes their files.
		name, list := "pack", u.listPacks
		if n < 256 {
			name, list = fmt.Sprintf("%02x", n), u.listLoose
		}
		if err := u.updateDirectory(name, list); err != nil {
			return room - u.left, err
		}
	}
	return room - u.left, nil
}

// update is one Update.
type update struct {
	o    *Objects
	ctx  context.Context
	r    *Repository
	left int64
}

// wantedFiles are the files to copy of one directory, and where each is.
type wantedFiles map[string]*directory

// updateDirectory copies one of the directories of objects, unless it has not
// changed since it was last copied.
func (u *update) updateDirectory(name string, list func(name string) (wantedFiles, error)) error {
	if err := context.Cause(u.ctx); err != nil {
		return err
	}
	modified, changed := u.modifiedTimes(name)
	if !changed {
		return nil
	}
	for _, d := range u.r.objects {
		delete(u.o.copied, d.joinPath(name)) // until all of it is copied again
	}
	wanted, err := list(name)
	if err != nil {
		return err
	}
	present, err := listCopies(filepath.Join(u.o.Directory, name))
	if err != nil {
		return err
	}
	// In reverse order a pack goes before its index: git takes a pack for complete
	// once it has one.
	for _, file := range slices.Backward(slices.Sorted(maps.Keys(wanted))) {
		if err = u.copyChanged(wanted[file], name+"/"+file, present); err != nil {
			break
		}
	}
	// Also after an error: what is removed makes room.
	settled, removeErr := u.removeAbsent(name, present, wanted)
	if err = errors.Join(err, removeErr); err == nil && settled {
		maps.Copy(u.o.copied, modified)
	}
	return err
}

// modifiedTimes returns when a directory was modified, in each of the object
// directories that have it, and whether that proves a change.
func (u *update) modifiedTimes(name string) (modified map[string]time.Time, changed bool) {
	modified = make(map[string]time.Time, len(u.r.objects))
	for _, d := range u.r.objects {
		var at time.Time // zero: it is missing
		if info, err := d.root.Lstat(name); err == nil {
			if at = info.ModTime(); time.Since(at) < racyAge || !info.IsDir() {
				changed = true
				continue
			}
		}
		last, known := u.o.copied[d.joinPath(name)]
		changed = changed || !known || !last.Equal(at)
		modified[d.joinPath(name)] = at
	}
	return modified, changed
}

// listPacks returns the packs, and the index of each. Two packs of one name hold
// the same objects, though not the same bytes: both files come from one directory.
func (u *update) listPacks(name string) (wantedFiles, error) {
	wanted := wantedFiles{}
	for _, d := range u.r.objects {
		files := map[string]bool{}
		err := d.eachEntry(name, maxObjectFiles, func(e fs.DirEntry) error {
			files[e.Name()] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
		for file := range files {
			pack, isIndex := strings.CutSuffix(file, ".idx")
			if isIndex && isPackName(pack) && files[pack+".pack"] && wanted[file] == nil {
				wanted[file], wanted[pack+".pack"] = d, d
			}
		}
	}
	return wanted, nil
}

// listLoose returns the loose objects of one of their 256 directories.
func (u *update) listLoose(name string) (wantedFiles, error) {
	wanted := wantedFiles{}
	for _, d := range u.r.objects {
		err := d.eachEntry(name, maxObjectFiles, func(e fs.DirEntry) error {
			if file := e.Name(); (len(file) == 38 || len(file) == 62) && isHex(file) && wanted[file] == nil {
				wanted[file] = d
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

func isPackName(name string) bool {
	hash, ok := strings.CutPrefix(name, "pack-")
	return ok && (len(hash) == 40 || len(hash) == 64) && isHex(hash)
}

// copyChanged copies a file unless the copy is there with the same size. A file that
// has gone meanwhile is skipped: the next Update sees what took its place.
func (u *update) copyChanged(d *directory, name string, present map[string]int64) error {
	size := present[filepath.Base(name)] // zero: it is missing, or a crash emptied it
	if size > 0 && !strings.HasPrefix(name, "pack/") {
		return nil // the name of a loose object is the hash of its content
	}
	f, info, err := d.openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	if size > 0 && size == info.Size() {
		return nil
	}
	if max(info.Size(), minFileBytes) > u.left {
		return fmt.Errorf("the repository has more than %d bytes of objects: %w", u.o.MaxBytes, ErrTooLarge)
	}
	u.left -= max(info.Size(), minFileBytes)
	if err := u.write(filepath.Join(u.o.Directory, filepath.FromSlash(name)), f, info.Size()); err != nil {
		return fmt.Errorf("copy %s: %w", d.joinPath(name), err)
	}
	return nil
}

// write copies size bytes to a path in one step. The kernel copies them, and file
// systems that can share blocks do. Nothing is synced: sizes are compared at every
// Update, and git finds damage within.
func (u *update) write(path string, from io.Reader, size int64) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, tempPrefix+"*")
	if errors.Is(err, fs.ErrNotExist) {
		// One level: a mirror that was removed meanwhile stays removed.
		if err = os.Mkdir(dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			tmp, err = os.CreateTemp(dir, tempPrefix+"*")
		}
	}
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	n, err := copyChunks(u.ctx, tmp, from, size)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF // it is being written: the next try sees all of it
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// copyChunkBytes is what is copied between two looks at the context.
const copyChunkBytes = 64 << 20

func copyChunks(ctx context.Context, to *os.File, from io.Reader, size int64) (n int64, err error) {
	for n < size && err == nil {
		if err = context.Cause(ctx); err != nil {
			break
		}
		var c int64
		c, err = io.CopyN(to, from, min(size-n, copyChunkBytes))
		n += c
	}
	return n, err
}

// listCopies returns the sizes of the files in a directory of copies, and removes
// what a crash left of a copy.
func listCopies(dir string) (map[string]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	present := make(map[string]int64, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		present[e.Name()] = info.Size()
	}
	return present, nil
}

// removeAbsent removes the copies of files that have been absent for long enough,
// and reports whether there is nothing left to remove.
func (u *update) removeAbsent(name string, present map[string]int64, wanted wantedFiles) (settled bool, err error) {
	settled = true
	// In order, an index goes before its pack.
	for _, file := range slices.Sorted(maps.Keys(present)) {
		key := name + "/" + file
		if wanted[file] != nil {
			delete(u.o.absent, key)
			continue
		}
		since, known := u.o.absent[key]
		if !known {
			since = time.Now()
			u.o.absent[key] = since
		}
		if !known || time.Since(since) < u.o.RemoveAfter {
			settled = false
			continue
		}
		delete(u.o.absent, key)
		if err := os.Remove(filepath.Join(u.o.Directory, name, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return settled, nil
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isAbsent reports whether a name does not exist: also because an element of its
// path is a file.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
