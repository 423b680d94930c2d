package mirror

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A push adds a pack, or some loose objects, to a mirror. Automatic maintenance after a
// fetch is off, because it would delay the next fetch. Instead, Run repacks mirrors
// concurrently with fetches. It skips mirrors of copies, which follow the packs of their
// repositories.
const (
	// repackEvery is the interval at which Run checks for mirrors to repack.
	repackEvery = time.Minute
	// maxLoose and maxPacks are the loose objects and packs above which a mirror is
	// repacked: some 500 pushes of one file, or 32 larger ones. A lookup in git searches
	// every pack.
	maxLoose = 4096
	maxPacks = 32
	// looseSample is one of the 256 directories of loose objects. Names are hashes, so
	// one directory is representative.
	looseSample = "17"
	// graphBytes is the total pack size above which a mirror gets a commit graph: with
	// one, a walk through 200,000 commits (Mirror.Reach) takes 0.2 s instead of 1.5 s.
	graphBytes = 16 << 20
)

// repackLimits bounds the loose objects and packs of a mirror; only tests change them.
type repackLimits struct{ loose, packs int }

// noteRepack marks a mirror for repacking.
func (ms *Mirrors) noteRepack(m *Mirror) {
	loose, packs := m.countObjects()
	if loose <= ms.repackLimits.loose && packs <= ms.repackLimits.packs && (m.hasGraph() || m.packBytes() < graphBytes) {
		return
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.mu.due[m.id] = true
}

// hasGraph reports whether the mirror has a commit graph.
func (m *Mirror) hasGraph() bool {
	return isFile(filepath.Join(m.gitDir(), "objects", "info", "commit-graphs", "commit-graph-chain"))
}

// countObjects estimates the loose objects and counts the packs.
func (m *Mirror) countObjects() (loose, packs int) {
	entries, _ := os.ReadDir(filepath.Join(m.gitDir(), "objects", looseSample)) // zero if the directory does not exist
	loose = 256 * len(entries)
	entries, _ = os.ReadDir(filepath.Join(m.gitDir(), "objects", "pack"))
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".pack") {
			packs++
		}
	}
	return loose, packs
}

// Run repacks mirrors as fetches make it necessary, one at a time, until ctx ends. A
// fetch of the same mirror waits for it, usually for about a second, because only objects
// added since the last repack are packed and, occasionally, packs of similar size.
func (ms *Mirrors) Run(ctx context.Context) error {
	tick := time.NewTicker(repackEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			ms.repackDue(ctx)
			ms.collectDue(ctx)
		}
	}
}

// repackDue repacks the marked mirrors. A later fetch marks a failed one again.
func (ms *Mirrors) repackDue(ctx context.Context) {
	ms.mu.Lock()
	due := ms.mu.due
	ms.mu.due = map[code.RepositoryID]bool{}
	ms.mu.Unlock()
	for id := range due {
		start := time.Now()
		if err := ms.Mirror(id).repackMirror(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			ms.metrics.repackFailures.Inc()
			ms.o.Logger.Warn("mirror could not be repacked; retrying after a later fetch", "repository_id", id, "error", err)
			continue
		}
		ms.metrics.repackSeconds.Observe(time.Since(start).Seconds())
	}
}

// repackEnv limits the resources of a repack: one thread, bounded memory, and no files
// that only serve clients.
var repackEnv = []string{
	"GIT_CONFIG_COUNT=4",
	"GIT_CONFIG_KEY_0=pack.threads", "GIT_CONFIG_VALUE_0=1",
	"GIT_CONFIG_KEY_1=pack.windowMemory", "GIT_CONFIG_VALUE_1=64m",
	"GIT_CONFIG_KEY_2=repack.writeBitmaps", "GIT_CONFIG_VALUE_2=false",
	"GIT_CONFIG_KEY_3=repack.updateServerInfo", "GIT_CONFIG_VALUE_3=false",
}

// repackMirror merges the loose objects and those packs that are not at least twice as
// large as all smaller ones together into one pack. It drops no object;
// collectUnreachable does. Readers continue, because git searches again when a pack has
// disappeared.
func (m *Mirror) repackMirror(ctx context.Context) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	if !m.hasRepository() {
		return nil
	}
	if !m.isCopy() {
		_, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), env: repackEnv, timeout: m.ms.o.FetchTimeout,
			args: []string{"repack", "--quiet", "-d", "--geometric=2"}})
		if err != nil {
			return m.wrapError("repack", err)
		}
	}
	return m.writeGraph(ctx)
}

// writeGraph adds the commits since the last update to the commit graph.
func (m *Mirror) writeGraph(ctx context.Context) error {
	_, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), timeout: m.ms.o.FetchTimeout,
		args: []string{"commit-graph", "write", "--reachable", "--split", "--no-progress"}})
	if err != nil {
		return m.wrapError("write the commit graph of", err)
	}
	return nil
}
