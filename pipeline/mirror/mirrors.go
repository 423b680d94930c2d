package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Mirrors manages all mirrors below one directory. Only one process may use the
// directory.
type Mirrors struct {
	o            Options
	git          *git
	metrics      *metrics
	repackLimits repackLimits
	mu           struct {
		sync.Mutex
		// known grows with the repositories that this process has worked on; a Mirror
		// takes a few hundred bytes.
		known map[code.RepositoryID]*Mirror
		// idle holds the idle readers, longest idle first.
		idle   []*Reader
		closed bool
		// due are the mirrors to repack.
		due map[code.RepositoryID]bool
		// reported are the missing objects that the log names, at most maxReported.
		reported map[string]bool
	}
}

// Open prepares the directory and checks that git is installed and recent enough.
func Open(ctx context.Context, o Options) (*Mirrors, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open mirrors: %w", err)
	}
	g, err := newGit(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open mirrors: %w", err)
	}
	if !g.hasVersion(versionCurlResolve) {
		o.Logger.Warn("git is too old to pin the checked addresses; install 2.37 or newer if clone URLs are not trusted", "version", fmt.Sprintf("%d.%d", g.version[0], g.version[1]))
	}
	ms := &Mirrors{o: o, git: g, metrics: newMetrics(o.Registerer), repackLimits: repackLimits{maxLoose, maxPacks}}
	ms.mu.due = make(map[code.RepositoryID]bool)
	ms.mu.reported = make(map[string]bool)
	ms.mu.known = make(map[code.RepositoryID]*Mirror)
	return ms, nil
}

// MaxRefs returns Options.MaxRefs.
func (ms *Mirrors) MaxRefs() int { return ms.o.MaxRefs }

// Close ends the idle readers. Mirrors and readers in use stay usable; a reader that is
// closed later also ends.
func (ms *Mirrors) Close() error {
	ms.mu.Lock()
	idle := ms.mu.idle
	ms.mu.idle, ms.mu.closed = nil, true
	ms.mu.Unlock()
	for _, r := range idle {
		r.stopProcesses()
	}
	return nil
}

// Mirror returns the mirror of a repository, which need not exist yet.
func (ms *Mirrors) Mirror(id code.RepositoryID) *Mirror {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.mu.known[id]
	if m == nil {
		m = &Mirror{ms: ms, id: id, dir: ms.dirOf(id), lock: make(chan struct{}, 1), disk: make(chan struct{}, 1)}
		m.resetCopies()
		m.disownBorrowed()
		ms.mu.known[id] = m
	}
	return m
}

// Repositories returns the IDs of the repositories that have a mirror, in ascending
// order.
func (ms *Mirrors) Repositories() ([]code.RepositoryID, error) {
	paths, err := filepath.Glob(filepath.Join(ms.o.Dir, "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return nil, fmt.Errorf("list mirrors: %w", err)
	}
	var ids []code.RepositoryID
	for _, p := range paths {
		if n, err := strconv.ParseUint(filepath.Base(p), 10, 64); err == nil {
			ids = append(ids, code.RepositoryID(n))
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (ms *Mirrors) dirOf(id code.RepositoryID) string {
	return filepath.Join(ms.o.Dir, fmt.Sprintf("%02x", byte(id)), id.String())
}

// Mirror is the mirror of one repository.
type Mirror struct {
	ms  *Mirrors
	id  code.RepositoryID
	dir string
	// lock is held by the goroutine that changes the mirror. It is a channel, so that
	// waiting for a half-hour fetch ends with the context.
	lock chan struct{}
	// disk is held by the goroutine that reads the repository on disk whose objects are
	// copied.
	disk chan struct{}
	// copies tracks the objects copied from it. The holder of lock owns it.
	copies *ondisk.Objects
	// resets are the times at which ResetDamaged reset the mirror. The holder of lock
	// owns them.
	resets []time.Time
}

// gitDir returns the path of the bare repository.
func (m *Mirror) gitDir() string { return filepath.Join(m.dir, "git") }

// File returns the path of a file next to the bare repository, for data about its blobs
// that does not depend on refs. The file is lost with the mirror.
func (m *Mirror) File(name string) string { return filepath.Join(m.dir, name) }

// repositoryParts are the entries that git requires to recognize a directory as a
// repository.
var repositoryParts = []string{"HEAD", "objects", "refs"}

// hasRepository reports whether the bare repository has all of repositoryParts. If one is
// missing, the mirror counts as lost, and the next Fetch recreates it.
func (m *Mirror) hasRepository() bool {
	for _, part := range repositoryParts {
		if _, err := os.Stat(filepath.Join(m.gitDir(), part)); err != nil {
			return false
		}
	}
	return true
}

func (m *Mirror) lockMirror(ctx context.Context) error {
	select {
	case m.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Mirror) unlockMirror() { <-m.lock }

const registrationName = "quarry.json"

// Repository returns the value stored by Save. It fails with code.ErrNotFound if nothing
// is stored.
func (m *Mirror) Repository() (code.Repository, error) {
	var r code.Repository
	err := m.loadValue(registrationName, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("mirror of repository %s: %w", m.id, code.ErrNotFound)
	}
	if err != nil || r.ID != m.id {
		// Treat it as lost.
		return code.Repository{}, fmt.Errorf("mirror of repository %s: %s is damaged: %w", m.id, registrationName, code.ErrNotFound)
	}
	return r, nil
}

// Save stores the registration of the repository next to its mirror.
func (m *Mirror) Save(r code.Repository) error {
	if err := makeDirectory(m.dir); err != nil {
		return m.wrapError("save", err)
	}
	return m.saveValue(registrationName, r)
}

// Remove deletes the mirror and the data stored by Save. Removing a mirror that does not
// exist is not an error.
func (m *Mirror) Remove(ctx context.Context) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	return m.removeLocked()
}

func (m *Mirror) removeLocked() error {
	m.dropCaches()
	if err := os.RemoveAll(m.dir); err != nil {
		return m.wrapError("remove", err)
	}
	return nil
}

// reset deletes the bare repository, and keeps the data stored by Save. The repository is renamed
// first, so that no reader sees a part of it, and no git process that is about to end adds files
// to what is being removed.
func (m *Mirror) reset() error {
	m.dropCaches()
	err := m.removeDiscarded()
	if err == nil {
		err = os.Rename(m.gitDir(), m.discardedDir())
	}
	if err == nil {
		err = m.removeDiscarded()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return m.wrapError("reset", err)
	}
	return nil
}

// discardedDir returns the path of a bare repository that is being removed.
func (m *Mirror) discardedDir() string { return m.gitDir() + ".discarded" }

// removeDiscarded removes what a process that was killed during a reset has left.
func (m *Mirror) removeDiscarded() error { return os.RemoveAll(m.discardedDir()) }

// dropCaches drops the state that this process caches about the files of the mirror.
func (m *Mirror) dropCaches() {
	m.resetCopies()
	m.ms.endIdle(m)
}

// spareDirectories are empty directories that git creates when it needs them. Most mirrors are
// small, and a directory takes an inode and 4 KiB.
var spareDirectories = []string{"objects/info", "objects/pack", "refs/tags"}

// createBare creates an empty bare repository in a temporary location and renames it, so
// that after a crash it is either absent or complete.
func (m *Mirror) createBare(ctx context.Context, format string) error {
	tmp := m.gitDir() + ".new"
	if err := errors.Join(makeDirectory(m.dir), os.RemoveAll(tmp)); err != nil {
		return m.wrapError("create", err)
	}
	_, err := m.ms.git.readOutput(ctx, command{gitDir: tmp, args: []string{
		"init", "--quiet", "--bare", "--template=", "--object-format=" + format, "--initial-branch=" + unannounced.Short()}})
	for _, dir := range spareDirectories {
		if err == nil {
			err = removeIfThere(filepath.Join(tmp, filepath.FromSlash(dir)))
		}
	}
	if err == nil {
		err = os.Rename(tmp, m.gitDir())
	}
	if err != nil {
		return m.wrapError("create", err)
	}
	return nil
}

// ensureBare creates the bare repository with the given object format unless it exists.
func (m *Mirror) ensureBare(ctx context.Context, format string) error {
	if m.hasRepository() {
		if m.objectFormat() == format {
			return nil
		}
		// There is now a different repository at the same clone URL.
	}
	// Remove the remains of a lost mirror, and this process's state about its files.
	if err := m.reset(); err != nil {
		return err
	}
	return m.createBare(ctx, format)
}

// objectFormat returns the object format of the bare repository.
func (m *Mirror) objectFormat() string {
	b, _ := os.ReadFile(filepath.Join(m.gitDir(), "config"))
	return formatOfConfig(b)
}

func (m *Mirror) wrapError(action string, err error) error {
	return fmt.Errorf("%s mirror of repository %s: %w", action, m.id, err)
}
