package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/segmentdriver"
)

// These are bounds on the free space of a file system.
const (
	fewBytes     = 5 << 30
	tooFewBytes  = 1 << 30
	fewFiles     = 100_000 // inodes
	tooFewFiles  = 5_000
	probePattern = ".quarry-doctor-*"
)

func checkDataDirectory(_ context.Context, x *Examination, r *report) {
	for i, dir := range x.Config.ChosenDirectories() {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && i == 0:
			r.addWarning("start the server, which creates it, or choose another directory with --data", "%s does not exist", dir)
		case errors.Is(err, fs.ErrNotExist):
			r.addOK("%s does not exist; the server creates it", dir)
		case err != nil:
			r.addProblem("give the user of the server access to it", "%s cannot be read: %v", dir, err)
		case !info.IsDir():
			r.addProblem("remove the file, or choose another directory", "%s is not a directory", dir)
		default:
			checkWritable(dir, r)
		}
	}
}

// checkWritable creates a file and removes it.
func checkWritable(dir string, r *report) {
	f, err := os.CreateTemp(dir, probePattern)
	if err == nil {
		_, err = f.WriteString("written by quarry doctor, to be removed\n")
		err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		r.addProblem("make the user of the server the owner of the directory, and make its file system writable", "%s is not writable: %v",
			dir, err)
		return
	}
	r.addOK("%s is writable", dir)
}

// checkSegments reads the segment store if it is in a bucket.
func checkSegments(ctx context.Context, x *Examination, r *report) {
	c := x.Config
	if !c.SegmentsInBucket() || !c.Has(config.RolePipeline) && !c.Has(config.RoleQuery) {
		return // its directory is one of those above, or this process does not use it
	}
	store, err := segmentdriver.Open(ctx, c, nil, slog.New(slog.DiscardHandler))
	if err == nil {
		_, err = store.IsEmpty(ctx)
	}
	if err != nil {
		r.addProblem("see docs/scaling.md#object-storage", "%v", err)
		return
	}
	r.addOK("%s answers", c.Storage.Segments)
}

func checkUser(_ context.Context, x *Examination, r *report) {
	ours, user, err := x.Probes.Owner(x.Config.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.addWarning("", "the owner of %s is unknown: %v", x.Config.Data, err)
	case !ours:
		r.addWarning(fmt.Sprintf("run the server, and quarry doctor, as user %d: sudo -u '#%d' quarry doctor", user, user),
			"%s belongs to user %d, not to the user of this command", x.Config.Data, user)
	default:
		r.addOK("%s belongs to the user of this command", x.Config.Data)
	}
}

func checkPermissions(_ context.Context, x *Examination, r *report) {
	found := false
	look := func(path string, own bool) {
		a, open, err := permissions.Open(path)
		if err != nil || !open {
			return
		}
		found = true
		switch {
		case a.Writable():
			r.addProblem(a.Command(), "other users of this machine can replace files in %s (mode %s)", path, a.Octal())
		case own:
			r.addWarning(a.Command()+"; the server also does this at startup", "other users of this machine can access %s (mode %s)", path,
				a.Octal())
		default:
			r.addWarning(a.Command(), "other users of this machine can access %s (mode %s); the files that Quarry creates in it are private",
				path, a.Octal())
		}
	}
	for _, dir := range x.Config.ChosenDirectories() {
		look(dir, false)
	}
	for _, dir := range x.Config.OwnDirectories() {
		look(dir, true)
	}
	for _, name := range secretFiles {
		look(filepath.Join(x.Config.Data, name), true)
	}
	if !found {
		r.addOK("other users of this machine cannot access the directories")
	}
}

func checkLock(_ context.Context, x *Examination, r *report) {
	holder, err := x.lockHeld()
	switch {
	case err != nil:
		r.addWarning("run quarry doctor as the user of the server", "whether a process uses %s is unknown: %v", x.Config.Data, err)
	case holder.Held && holder.Process != 0:
		r.addOK("process %d uses %s", holder.Process, x.Config.Data)
	case holder.Held:
		r.addOK("a process uses %s", x.Config.Data)
	default:
		r.addOK("no process uses %s", x.Config.Data)
	}
}

func checkDisk(_ context.Context, x *Examination, r *report) {
	minFree := int64(x.Config.Storage.MinFreeBytes)
	for _, dir := range append(x.Config.ChosenDirectories(), os.TempDir()) {
		space, err := x.Probes.Space(dir)
		if errors.Is(err, fs.ErrNotExist) {
			space, err = x.Probes.Space(filepath.Dir(dir))
		}
		const remedy = "free up space, or move a directory to a larger disk with the storage settings"
		switch {
		case err != nil:
			r.addWarning("", "the free space of %s is unknown: %v", dir, err)
		case space.FreeBytes < minFree:
			r.addProblem(remedy, "%s has %s left of %s; below %s (storage.minFreeBytes) the server is read-only", dir, sizeText(space.FreeBytes),
				sizeText(space.TotalBytes), sizeText(minFree))
		case space.FreeBytes < tooFewBytes:
			r.addProblem(remedy, "%s has %s left of %s", dir, sizeText(space.FreeBytes), sizeText(space.TotalBytes))
		case space.TotalFiles > 0 && space.FreeFiles < tooFewFiles:
			r.addProblem(remedy, "%s has room for %d more files", dir, space.FreeFiles)
		case space.FreeBytes < max(fewBytes, 2*minFree):
			r.addWarning(remedy, "%s has %s left of %s", dir, sizeText(space.FreeBytes), sizeText(space.TotalBytes))
		case space.TotalFiles > 0 && space.FreeFiles < fewFiles:
			r.addWarning(remedy, "%s has room for %d more files", dir, space.FreeFiles)
		default:
			r.addOK("%s has %s left of %s", dir, sizeText(space.FreeBytes), sizeText(space.TotalBytes))
		}
	}
}

// sizeText formats a number of bytes in a readable unit.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
