package rounds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/fleet"
)

// saysFull reports whether a process logged a full disk as the reason of its end.
func saysFull(m *fleet.Member) bool {
	return m.SaysSince("no space left") || m.SaysSince("free some space")
}

// These are the messages of the query process about a damaged store.
const (
	saysRebuilt  = "rebuilt from the log"
	saysRepaired = "the pointer to the projections is damaged"
	saysAgain    = "start the server again"
)

// damageStore truncates a file of the stopped store, or flips one of its bits. Two
// outcomes are correct: the start reports that it rebuilds the store; or the store opens,
// because the damage was not needed, or is found later and then repaired by a rebuild
// (startDamaged). Wrong search results are never correct.
func (r *chaosRun) damageStore(ctx context.Context) error {
	m := r.fleet.Query()
	m.Kill()
	path, err := r.damageOneFile(filepath.Join(m.Data, "projections"))
	if err != nil {
		return err
	}
	r.verify = true
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("%s damaged: %w", path, err)
	}
	if m.SaysSince(saysRebuilt) || m.SaysSince(saysRepaired) {
		r.tally.Damage.Rebuilt++
	} else {
		r.tally.Damage.Started++
	}
	return nil
}

// startDamaged restarts a process that ended because it found damage. This is needed
// because the process restarts its server only a few times itself.
func (r *chaosRun) startDamaged(ctx context.Context, failed error) error {
	m := r.fleet.Query()
	if !m.SaysSince(saysAgain) {
		return fmt.Errorf("a damaged store is met without a word of the remedy: %w: %s", failed, m.Said())
	}
	r.tally.Damage.Later++
	m.Kill()
	if err := m.Start(ctx); err != nil {
		return err
	}
	return r.awaitModel(ctx)
}

// damageOneFile damages a random file below dir and returns a description of the damage.
func (r *chaosRun) damageOneFile(dir string) (string, error) {
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
	// Write a separate file: tables are hard links to the segment store, which is another
	// store and must not be damaged here.
	if err := os.WriteFile(path+".damaged", b, 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(path+".damaged", path)
}
