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

// Objects maintains a copy of a repository's objects in the object directory of another
// one. A new Objects with only Directory and MaxBytes set has no record of earlier
// copies, and compares all files.
type Objects struct {
	// Directory is the directory of the copies.
	Directory string
	// MaxBytes bounds the packs of the copy and the bytes that one Update adds to it.
	MaxBytes int64
	// RemoveAfter is how long a file must be absent from the repository before its copy
	// is removed. git moves objects between files while they are listed, so a file that
	// seems absent may have been replaced by one that the listing missed.
	RemoveAfter time.Duration

	// paths are the object directories that were copied.
	paths []string
	// copied maps the path of each repository directory to its modification time when it
	// was last copied.
	copied map[string]time.Time
	// absent maps each file of the copy to the time when it was first absent from the
	// repository.
	absent map[string]time.Time
}

// racyAge is how old a change of a directory must be for its modification time to prove
// that nothing was added after it was listed, because file system clocks are coarse.
const racyAge = 2 * time.Second

// packDirectory contains the packs of an object directory.
const packDirectory = "pack"

// tempPrefix is the prefix of files that are being copied.
const tempPrefix = "tmp_quarry_"

// Update makes the copy equal to the objects of r: it copies new files, and removes files
// that r no longer has. It returns the number of bytes copied. Files copied before an
// error remain. It fails with ErrRefused or ErrTooLarge.
func (o *Objects) Update(ctx context.Context, r *Repository) (int64, error) {
	paths := make([]string, len(r.objects))
	for i, d := range r.objects {
		paths[i] = d.path
	}
	if o.copied == nil || !slices.Equal(o.paths, paths) {
		o.copied, o.absent, o.paths = map[string]time.Time{}, map[string]time.Time{}, paths
	}
	present, err := listCopies(filepath.Join(o.Directory, packDirectory))
	if err != nil {
		return 0, err
	}
	u := update{o: o, ctx: ctx, r: r, left: o.MaxBytes, names: make([]map[string]bool, len(r.objects))}
	for i, d := range r.objects {
		u.names[i] = d.listNames(".", maxObjectNames)
	}
	for _, size := range present {
		u.left -= size // unwanted packs take space until they are removed
	}
	room := u.left
	for n := range 257 {
		// Packs last: git packs loose objects before it removes their files.
		name, list := packDirectory, u.listPacks
		if n < 256 {
			name, list = fmt.Sprintf("%02x", n), u.listLoose
		}
		if err := u.updateDirectory(name, list); err != nil {
			return room - u.left, err
		}
	}
	return room - u.left, nil
}

// update is the state of one call of Update.
type update struct {
	o    *Objects
	ctx  context.Context
	r    *Repository
	left int64
	// names are the names in each object directory before anything is copied; nil if there
	// are too many to list. Most of the 256 directories of loose objects do not exist, and
	// need not be looked for.
	names []map[string]bool
}

// maxObjectNames bounds the listed names of an object directory. Git creates 259.
const maxObjectNames = 1024

// wantedFiles maps the files to copy from one directory to their locations.
type wantedFiles map[string]*directory

// updateDirectory copies one directory of objects, unless it is unchanged since it was
// last copied.
func (u *update) updateDirectory(name string, list func(name string) (wantedFiles, error)) error {
	if err := context.Cause(u.ctx); err != nil {
		return err
	}
	modified, changed := u.modifiedTimes(name)
	if !changed {
		return nil
	}
	for _, d := range u.r.objects {
		delete(u.o.copied, d.joinPath(name)) // until the copy is complete
	}
	wanted, err := list(name)
	if err != nil {
		return err
	}
	present, err := listCopies(filepath.Join(u.o.Directory, name))
	if err != nil {
		return err
	}
	// In reverse order, a pack comes before its index: git treats a pack as complete once
	// its index exists.
	for _, file := range slices.Backward(slices.Sorted(maps.Keys(wanted))) {
		if err = u.copyChanged(wanted[file], name+"/"+file, present); err != nil {
			break
		}
	}
	// Also after an error, because the removal makes room.
	settled, removeErr := u.removeAbsent(name, present, wanted)
	if err = errors.Join(err, removeErr); err == nil && settled {
		maps.Copy(u.o.copied, modified)
	}
	return err
}

// modifiedTimes returns the modification time of a directory in each of the object
// directories that contain it, and whether the times indicate a change.
func (u *update) modifiedTimes(name string) (modified map[string]time.Time, changed bool) {
	modified = make(map[string]time.Time, len(u.r.objects))
	for i, d := range u.r.objects {
		var at time.Time // zero if the directory is missing
		// Packs may have been created since the names were listed.
		if u.names[i] == nil || u.names[i][name] || name == packDirectory {
			if info, err := d.root.Lstat(name); err == nil {
				if at = info.ModTime(); time.Since(at) < racyAge || !info.IsDir() {
					changed = true
					continue
				}
			}
		}
		last, known := u.o.copied[d.joinPath(name)]
		changed = changed || !known || !last.Equal(at)
		modified[d.joinPath(name)] = at
	}
	return modified, changed
}

// listPacks returns the packs and their indexes. Two packs with the same name contain the
// same objects, though not the same bytes, so both files are taken from one directory.
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

// listLoose returns the loose objects in one of the 256 directories.
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

// copyChanged copies a file unless a copy of the same size exists. It skips a file that
// was deleted in the meantime; the next Update sees its replacement.
func (u *update) copyChanged(d *directory, name string, present map[string]int64) error {
	size := present[filepath.Base(name)] // zero if it is missing, or was emptied by a crash
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

// write atomically copies size bytes to a path. The kernel does the copying, and file
// systems that can share blocks do so. It does not sync: every Update compares sizes, and
// git detects damaged content.
func (u *update) write(path string, from io.Reader, size int64) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, tempPrefix+"*")
	if errors.Is(err, fs.ErrNotExist) {
		// One level only: a mirror that was removed in the meantime must not reappear.
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
		err = io.ErrUnexpectedEOF // the file is still being written; the next Update sees all of it
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// copyChunkBytes is the number of bytes copied between two checks of the context.
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
// temporary files that a crash left.
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

// removeAbsent removes the copies of files that have been absent for long enough, and
// reports whether nothing is left to remove.
func (u *update) removeAbsent(name string, present map[string]int64, wanted wantedFiles) (settled bool, err error) {
	settled = true
	// In this order, an index is removed before its pack.
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

// isAbsent reports whether err means that a name does not exist, for example because an
// element of its path is a file.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
