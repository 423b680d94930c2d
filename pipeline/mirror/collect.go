package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A forced push or a deleted branch leaves commits in a mirror that no ref reaches.
// Collecting them repacks the whole mirror, so it is done only for mirrors that contain
// any: a mirror records the previous commits of its branches, and twice per
// Options.CollectAfter Run checks which of those commits no ref reaches any more. A
// mirror of copies is skipped, because it mirrors the objects of its repository.

const (
	// formerTips is the file in a mirror that lists the previous commits of its branches.
	formerTips = "former-tips"
	// maxFormerTips bounds the bytes read from that file: some 400,000 pushes.
	maxFormerTips = 16 << 20
	// collectedNote stores the time of the last round.
	collectedNote = "collected"
)

// noteTips appends to the former tips the commits of branches that are about to move.
func (m *Mirror) noteTips(ctx context.Context, refs []code.Ref) error {
	if !m.hasRepository() || m.ms.o.CollectAfter <= 0 {
		return nil
	}
	r, err := m.Reader(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	var tips []code.CommitID
	for _, ref := range refs {
		c, err := r.commit(ctx, string(ref))
		if errors.Is(err, ErrMissing) {
			continue // new branch
		}
		if err != nil {
			return err
		}
		tips = append(tips, c.ID)
	}
	return m.addTips(tips)
}

func (m *Mirror) addTips(tips []code.CommitID) error {
	if len(tips) == 0 || m.ms.o.CollectAfter <= 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(m.gitDir(), formerTips), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for _, id := range tips {
		if _, err = fmt.Fprintln(f, id); err != nil {
			break
		}
	}
	return errors.Join(err, f.Close())
}

// collectDue collects unreachable objects in every mirror, if a round is due. Before the
// first round no former tips were recorded, so it repacks all mirrors.
func (ms *Mirrors) collectDue(ctx context.Context) {
	if ms.o.CollectAfter <= 0 {
		return
	}
	b, err := ms.Note(collectedNote)
	first := errors.Is(err, fs.ErrNotExist)
	last, _ := time.Parse(time.RFC3339, string(b)) // zero if the time cannot be parsed
	if time.Since(last) < ms.o.CollectAfter/2 {
		return
	}
	ids, err := ms.Repositories()
	if err != nil {
		ms.o.Logger.Warn("cannot list the mirrors to collect unreachable commits", "error", err)
		return
	}
	for _, id := range ids {
		if err := ms.Mirror(id).collectUnreachable(ctx, first); err != nil {
			if ctx.Err() != nil {
				return
			}
			ms.metrics.repackFailures.Inc()
			ms.o.Logger.Warn("cannot collect unreachable commits of a mirror; retrying in the next round", "repository_id", id, "error", err)
		}
	}
	if err := ms.SetNote(collectedNote, []byte(time.Now().UTC().Format(time.RFC3339))); err != nil {
		ms.o.Logger.Warn("cannot record when unreachable commits were collected", "error", err)
	}
}

// collectUnreachable removes unreachable objects if a former tip is unreachable or all is
// set. Fetches of the mirror wait for it.
func (m *Mirror) collectUnreachable(ctx context.Context, all bool) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	path := filepath.Join(m.gitDir(), formerTips)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !all || !m.hasRepository() || m.isCopy() {
		return nil
	}
	var tips []byte
	if err == nil && info.Size() <= maxFormerTips {
		if tips, err = os.ReadFile(path); err != nil {
			return m.wrapError("collect", err)
		}
	}
	all = all || len(tips) == 0
	dropped := all
	if !all {
		if dropped, err = m.hasUnreachable(ctx, tips, "--branches", "--tags", "--glob="+indexedPrefix+"*"); err != nil {
			return err
		}
	}
	if dropped {
		if err := m.repackReachable(ctx); err != nil {
			return err
		}
	}
	// A commit that only an indexed ref reaches is dropped after that ref moves, so keep
	// the tips and check again next time.
	if waits, err := m.hasUnreachable(ctx, tips, "--branches", "--tags"); err != nil || waits {
		return err
	}
	return removeIfThere(path)
}

// hasUnreachable reports whether one of the commits exists and none of the refs reaches
// it.
func (m *Mirror) hasUnreachable(ctx context.Context, commits []byte, refs ...string) (bool, error) {
	if len(commits) == 0 {
		return false, nil
	}
	args := append([]string{"rev-list", "--max-count=1", "--ignore-missing", "--stdin", "--not"}, refs...)
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: args, stdin: commits, timeout: m.ms.o.FetchTimeout})
	if err != nil {
		return false, m.wrapError("look for dropped commits of", err)
	}
	return len(bytes.TrimSpace(out)) > 0, nil
}

// repackReachable writes one pack of the reachable objects and removes all other objects.
func (m *Mirror) repackReachable(ctx context.Context) error {
	start := time.Now()
	m.ms.endIdle(m)
	for _, args := range [][]string{{"repack", "--quiet", "-a", "-d"}, {"prune", "--expire=now"}} {
		if _, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), env: repackEnv, timeout: m.ms.o.FetchTimeout, args: args}); err != nil {
			return m.wrapError(args[0], err)
		}
	}
	// The commit graph may name commits that were removed.
	if err := os.RemoveAll(filepath.Join(m.gitDir(), "objects", "info", "commit-graphs")); err != nil {
		return m.wrapError("repack", err)
	}
	m.ms.noteRepack(m)
	m.ms.o.Logger.Info("removed unreachable commits from a mirror", "repository_id", m.id, "duration_ms", time.Since(start).Milliseconds())
	return nil
}
