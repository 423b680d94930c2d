// Package ondisktest creates hostile repositories for tests, and detects files that are
// opened outside of them.
package ondisktest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Watch detects which files in some directories are opened.
type Watch struct{ fd int }

// NewWatch watches directories and everything below them.
func NewWatch(t testing.TB, directories ...string) *Watch {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatalf("watch files: %v", err)
	}
	w := &Watch{fd: fd}
	var below []string
	for _, dir := range directories {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				below = append(below, path)
			}
			return err
		})
		if err != nil {
			t.Fatalf("watch %s: %v", dir, err)
		}
	}
	for _, dir := range below { // after the walk, which opens the directories
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
			t.Fatalf("watch %s: %v", dir, err)
		}
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return w
}

// Check fails the test if a file was opened since the last call.
func (w *Watch) Check(t testing.TB) {
	t.Helper()
	var buf [4096]byte
	if n, err := unix.Read(w.fd, buf[:]); err == nil && n > 0 {
		t.Error("a file outside the root was opened")
	}
}

// Plant is one hostile modification of a repository.
type Plant struct {
	// Kind is one of Kinds.
	Kind string
	// Name is a path below git's directory, or ".git" itself.
	Name string
	// Target is the target of a link, or the content of a file.
	Target string
	// Size is the size of a sparse file.
	Size int64
}

// Kinds of plants.
const (
	Link   = "link"
	FIFO   = "fifo"
	Socket = "socket"
	Dir    = "directory"
	File   = "file"
	Sparse = "sparse file"
	Device = "device" // needs root
)

// Kinds contains all kinds of plants.
var Kinds = []string{Link, FIFO, Socket, Dir, File, Sparse, Device}

// Put replaces the file at Name below gitDir. It follows no link that leads out.
func (p Plant) Put(gitDir string) error {
	root, err := os.OpenRoot(gitDir)
	if err != nil {
		return err
	}
	defer root.Close()
	path := filepath.Join(gitDir, filepath.FromSlash(p.Name))
	if err := root.RemoveAll(p.Name); err != nil {
		return err
	}
	if parent := filepath.Dir(p.Name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	switch p.Kind {
	case Link:
		return os.Symlink(p.Target, path)
	case FIFO:
		return unix.Mkfifo(path, 0o644)
	case Socket:
		return unix.Mknod(path, unix.S_IFSOCK|0o644, 0)
	case Device: // an endless file
		return unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5)))
	case Dir:
		return os.Mkdir(path, 0o755)
	case Sparse:
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Truncate(p.Size)
	}
	return os.WriteFile(path, []byte(p.Target), 0o644)
}

// Names returns the files and directories of a repository that decide what is read, and
// some that must not. PACK is replaced by the name of an existing pack, XX/YY by a loose
// object.
func Names(gitDir string) []string {
	names := []string{
		"HEAD", "config", "packed-refs", "shallow", "commondir", "refs", "refs/heads", "refs/heads/main", "refs/heads/x", "refs/heads/deep/er/x", "refs/tags/v9",
		"objects", "objects/info", "objects/info/alternates", "objects/info/http-alternates", "objects/info/commit-graph", "objects/pack", "objects/aa", "objects/pack/multi-pack-index",
		"objects/pack/pack-0123456789012345678901234567890123456789.idx", "objects/pack/pack-0123456789012345678901234567890123456789.pack",
		"objects/aa/01234567890123456789012345678901234567", "info", "info/grafts", "info/attributes", "gitdir", "config.worktree", "worktrees", "refs/replace",
	}
	for _, pattern := range []string{"objects/pack/*.idx", "objects/pack/*.pack", "objects/[0-9a-f][0-9a-f]", "objects/[0-9a-f][0-9a-f]/*"} {
		found, _ := filepath.Glob(filepath.Join(gitDir, pattern)) // the pattern is valid
		for i, path := range found {
			if rel, err := filepath.Rel(gitDir, path); err == nil && i < 2 {
				names = append(names, filepath.ToSlash(rel))
			}
		}
	}
	return names
}
