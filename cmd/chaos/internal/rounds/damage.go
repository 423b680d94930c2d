package rounds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/chaos/internal/fleet"
)

// saysFull says whether a process named the reason of its end.
func saysFull(m *fleet.Member) bool {
	return m.SaysSince("no space left") || m.SaysSince("free some space")
}

// remedy is what a process that cannot read its store has to name.
const remedy = "quarry replay"

// remedyPointer is the remedy of the small file that names the live store.
const remedyPointer = "the next start reads the log from its beginning"

// errRemedy says that it does not.
var errRemedy = errors.New("a damaged store is met without a word of the remedy, " + remedy)

// damageStore cuts a file of the stopped store, or turns one of its bits. Three
// outcomes are well: the start is refused, and names the remedy, which heals; the
// store starts, for what was damaged was not needed; or it fails later, with the
// same words (replayDamaged). Wrong answers are none of them.
func (r *run) damageStore(ctx context.Context) error {
	m := r.fleet.Query()
	m.Kill()
	path, err := r.damageOneFile(filepath.Join(m.Data, "projections"))
	if err != nil {
		return err
	}
	r.verify = true
	err = m.Start(ctx)
	if err == nil {
		r.tally.Damage.Started++
		return nil
	}
	if m.Running() {
		return fmt.Errorf("%s damaged: %w", path, err)
	}
	if m.SaysSince(remedyPointer) {
		r.tally.Damage.Refused++
		return errors.Join(os.Remove(path), m.Start(ctx))
	}
	if !m.SaysSince(remedy) {
		return fmt.Errorf("%s damaged: %w: %w", path, errRemedy, err)
	}
	r.tally.Damage.Refused++
	return r.replay(ctx)
}

// replay rebuilds the projections of the query process, which does not run.
func (r *run) replay(ctx context.Context) error {
	if _, err := r.fleet.Query().Replay(ctx); err != nil {
		return err
	}
	return r.fleet.Query().Start(ctx)
}

// replayDamaged is the remedy where the damage was met after the start.
func (r *run) replayDamaged(ctx context.Context, failed error) error {
	m := r.fleet.Query()
	if !m.SaysSince(remedy) {
		return fmt.Errorf("%w: %w: %s", errRemedy, failed, m.Said())
	}
	r.tally.Damage.Later++
	m.Kill()
	if err := r.replay(ctx); err != nil {
		return err
	}
	return r.await(ctx)
}

// damageOneFile damages a file below dir at random and returns what it did.
func (r *run) damageOneFile(dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() == 0 {
			return err
		}
		files = append(files, path)
		return nil
	})
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, errors.New("the store has no files"))
	}
	path := files[r.random.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	at := r.random.IntN(len(b))
	if r.random.IntN(2) == 0 {
		r.o.Log("%s is cut to %d of %d bytes", path, at, len(b))
		b = b[:at]
	} else {
		r.o.Log("%s: a bit of byte %d of %d is turned", path, at, len(b))
		b[at] ^= 1 << r.random.IntN(8)
	}
	// A file of its own: tables are hard links to the segment store, which is
	// another store and not the one that is damaged here.
	if err := os.WriteFile(path+".damaged", b, 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(path+".damaged", path)
}
