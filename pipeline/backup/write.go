package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrVanished means that a source file was removed before it was copied.
var ErrVanished = errors.New("a file was removed during the backup; run it again: what was copied is not copied again")

// Source describes the files to back up.
type Source struct {
	// Log is a directory with the files of an embedded log that no process writes to: a
	// checkpoint, or the log of a stopped server. It is empty with Kafka.
	Log string
	// Positions are the positions of a log on Kafka, read before anything is copied.
	Positions []event.Position
	// Segments is the directory of the segment store.
	Segments string
	// Objects is the segment store if it is no directory, and nil otherwise.
	Objects segmentstore.Store
	// Secret is the path of the secret's file, or empty if the secret is in the
	// configuration.
	Secret string
	// Release is the version of this program.
	Release string
}

// Options are the options of Write.
type Options struct {
	// Keep is the number of generations to keep, including this one. 0 keeps all.
	Keep int
	// Progress is called after each file.
	Progress func(Progress)
	Now      func() time.Time
}

// Progress is the progress of a backup or a restore.
type Progress struct {
	Files, FilesTotal int
	Bytes             int64
}

// Result is the result of Write.
type Result struct {
	Generation int
	Manifest   Manifest
	Totals     Totals
	// Copied counts the files that were not in the directory before.
	Copied Totals
	// Removed lists the generations that the retention removed.
	Removed []int
}

// formatVersions returns the format versions that this release reads and writes. They are
// stored in the manifest, so that a release that reads only older versions refuses to
// restore.
func formatVersions() map[string]int {
	return map[string]int{"eventlog": embeddedlog.FormatVersion, "segment": segment.FormatVersion}
}

// Write adds a generation. On error, the generations of the directory are unchanged.
func (d *Directory) Write(ctx context.Context, src Source, o Options) (r Result, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	all, err := d.Generations()
	if err != nil {
		return r, err
	}
	w := &writeRun{d: d, src: src, o: o, r: &r}
	r.Generation = 1
	if len(all) > 0 {
		r.Generation = all[len(all)-1] + 1
	}
	if err := w.planGeneration(ctx); err != nil {
		return r, err
	}
	if err := w.writeManifest(ctx, all); err != nil {
		return r, err
	}
	if r.Removed, err = d.removeOldGenerations(append(all, r.Generation), o.Keep); err != nil {
		return r, fmt.Errorf("generation %d is complete, and older ones could not be removed: %w", r.Generation, err)
	}
	return r, nil
}

// writeRun is one call of Write.
type writeRun struct {
	d   *Directory
	src Source
	o   Options
	r   *Result
	// paths are the paths to back up, sorted, as they appear in the manifest and below
	// the sources.
	paths []string
	// sizes are the sizes of the objects in src.Objects.
	sizes map[string]int64
}

// planGeneration fills in the head of the manifest and the paths.
func (w *writeRun) planGeneration(ctx context.Context) error {
	w.r.Manifest = Manifest{
		Version: FormatVersion, CreatedAt: w.o.Now().UTC().Truncate(time.Second), Release: w.src.Release, Log: LogKafka, Secret: SecretConfigured,
		Formats: formatVersions(), Positions: w.src.Positions,
	}
	present, err := w.listObjects(ctx)
	if err != nil {
		return err
	}
	n := &objectScan{present: present, keepAll: w.src.Log == "", missing: map[string]code.RepositoryID{}}
	if w.src.Log != "" {
		w.r.Manifest.Log = LogEmbedded
		if err := w.planLog(ctx, n); err != nil {
			return err
		}
	}
	if _, ok := present[segmentstore.IdentityName]; ok {
		present[segmentstore.IdentityName] = true // the log refers to it, not by a name
	}
	if w.src.Secret != "" {
		w.r.Manifest.Secret = SecretFile
		w.paths = append(w.paths, secretPath)
	}
	for _, name := range n.listNamed() {
		w.paths = append(w.paths, segmentFolder+name)
	}
	w.r.Manifest.Missing = len(n.missing)
	names := slices.Sorted(maps.Keys(n.missing))
	w.r.Manifest.MissingNames = names[:min(len(names), maxMissingNames)]
	if len(w.paths) > MaxFiles {
		return fmt.Errorf("%d files, at most %d can be in a backup", len(w.paths), MaxFiles)
	}
	return nil
}

// listObjects returns the names of the objects in the segment store.
func (w *writeRun) listObjects(ctx context.Context) (map[string]bool, error) {
	present := map[string]bool{}
	if w.src.Objects != nil {
		w.sizes = map[string]int64{}
		for info, err := range w.src.Objects.List(ctx) {
			if err != nil {
				return nil, err
			}
			present[info.Name], w.sizes[info.Name] = false, info.SizeBytes
		}
		return present, nil
	}
	entries, err := os.ReadDir(w.src.Segments)
	if err != nil {
		return nil, fmt.Errorf("segment store: %w", err)
	}
	for _, e := range entries {
		if segmentstore.ValidateName(e.Name()) == nil && e.Type().IsRegular() {
			present[e.Name()] = false
		}
	}
	return present, ctx.Err()
}

// planLog reads the log to check that it is readable, and records its positions, its
// files and the objects that it names.
func (w *writeRun) planLog(ctx context.Context, n *objectScan) (err error) {
	entries, err := os.ReadDir(w.src.Log)
	if err != nil {
		return asVanished(err)
	}
	log, err := embeddedlog.Open(w.src.Log, embeddedlog.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if w.r.Manifest.Positions, err = endsOf(ctx, log); err != nil {
		return err
	}
	ends, err := log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	if _, err := n.scanLog(ctx, log, ends); err != nil {
		return err
	}
	for _, e := range entries { // ReadDir sorts them
		if e.Type().IsRegular() && e.Name() != "LOCK" {
			w.paths = append(w.paths, logFolder+e.Name())
		}
	}
	return nil
}

// backedUpTopics are the topics whose positions a manifest contains.
var backedUpTopics = []event.Topic{event.TopicAccounts, event.TopicAudit, event.TopicDeadLetters, event.TopicEvents}

// endsOf returns the position of the next record of each partition.
func endsOf(ctx context.Context, log eventlog.Log) ([]event.Position, error) {
	var out []event.Position
	for _, topic := range backedUpTopics {
		high, err := log.HighWater(ctx, topic)
		if err != nil {
			return nil, err
		}
		for partition, next := range high {
			out = append(out, event.Position{Topic: topic, Partition: int32(partition), Offset: next})
		}
	}
	return out, nil
}

// sourcePath returns the source of a path in the manifest.
func (w *writeRun) sourcePath(path string) string {
	if name, ok := strings.CutPrefix(path, logFolder); ok {
		return filepath.Join(w.src.Log, name)
	}
	if name, ok := strings.CutPrefix(path, segmentFolder); ok {
		return filepath.Join(w.src.Segments, name)
	}
	return w.src.Secret
}

// writeManifest copies the files and then publishes the generation.
func (w *writeRun) writeManifest(ctx context.Context, generations []int) (err error) {
	out, err := os.CreateTemp(w.d.generationsPath(), tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(out.Name()) // if this fails, the next run removes the file
		}
	}()
	before, err := w.readPrevious(generations)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	m := newManifestWriter(out, &w.r.Manifest)
	for i, path := range w.paths {
		f, err := w.copyFile(ctx, path, before)
		if err != nil {
			return errors.Join(fmt.Errorf("back up %s: %w", path, err), out.Close())
		}
		m.addFile(f)
		w.o.Progress(Progress{Files: i + 1, FilesTotal: len(w.paths), Bytes: m.totals.Bytes})
	}
	w.r.Totals, err = m.close()
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	if err := os.Rename(out.Name(), w.d.manifestPath(w.r.Generation)); err != nil {
		return err
	}
	return syncDirectory(w.d.generationsPath())
}

// readPrevious returns the immutable files of the newest generation. It returns none if
// the manifest is damaged.
func (w *writeRun) readPrevious(generations []int) (map[string]File, error) {
	before := map[string]File{}
	if len(generations) == 0 {
		return before, nil
	}
	_, _, err := readManifest(w.d.manifestPath(generations[len(generations)-1]), func(f File) error {
		if isImmutable(f.Path) {
			before[f.Path] = f
		}
		return nil
	})
	if errors.Is(err, ErrManifest) {
		clear(before)
		err = nil
	}
	return before, err
}

// isImmutable reports whether the file at a path never changes.
func isImmutable(path string) bool {
	return strings.HasPrefix(path, segmentFolder) || strings.HasSuffix(path, ".sst") || strings.HasSuffix(path, ".blob")
}

// copyFile ensures that an object with the bytes of a source file exists.
func (w *writeRun) copyFile(ctx context.Context, path string, before map[string]File) (File, error) {
	source := w.sourcePath(path)
	if name, ok := strings.CutPrefix(path, segmentFolder); ok && w.src.Objects != nil {
		old, ok := before[path]
		if ok && name != segmentstore.IdentityName && old.Size == w.sizes[name] && w.d.hasObject(old.SHA256, old.Size) {
			return old, nil // its name follows from its content
		}
		source = filepath.Join(w.d.objectsPath(), tempPrefix+name)
		err := w.src.Objects.Fetch(ctx, name, source)
		if errors.Is(err, code.ErrNotFound) {
			return old, fmt.Errorf("%w: %w", ErrVanished, err)
		}
		if err != nil {
			return old, err
		}
		defer func() { _ = os.Remove(source) }() // if this fails, the next run removes the file
	} else if old, ok := before[path]; ok && w.d.hasObject(old.SHA256, old.Size) {
		same, err := w.isUnchanged(ctx, source, &old)
		if err != nil || same {
			return old, asVanished(err)
		}
	}
	f, added, err := w.d.putObject(ctx, source)
	if added {
		w.r.Copied.Files++
		w.r.Copied.Bytes += f.Size
	}
	f.Path = path
	return f, asVanished(err)
}

// isUnchanged reports whether a source file has the same bytes as in an earlier
// generation. It reads the file if its time differs, as after a restore.
func (w *writeRun) isUnchanged(ctx context.Context, source string, old *File) (bool, error) {
	info, err := os.Lstat(source)
	if err != nil || info.Size() != old.Size || !info.Mode().IsRegular() {
		return false, err
	}
	modified := info.ModTime().UTC()
	if modified.Equal(old.Modified) {
		return true, nil
	}
	sum, _, err := hashFile(ctx, source)
	old.Modified = modified
	return sum == old.SHA256, err
}

// asVanished wraps the error of a file that no longer exists.
func asVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrVanished, err)
	}
	return err
}
