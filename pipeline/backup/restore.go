package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/disk"
)

// Target is the place to restore a generation to.
type Target struct {
	// Data is the data directory. Log and Segments are the directories of the log and of
	// the segment store, inside or outside of Data.
	Data, Log, Segments string
	// Objects is the segment store if it is no directory, and nil otherwise.
	Objects segmentstore.Driver
	// Kafka is set if the log of the settings is on brokers.
	Kafka bool
}

// RestoreOptions are the options of Restore.
type RestoreOptions struct {
	// Compare reads back and compares everything that was written.
	Compare  bool
	Progress func(Progress)
}

// markerName is a file in a data directory whose restore is not complete.
const markerName = "RESTORING"

// marker identifies the restore in progress.
type marker struct {
	Backup     string `json:"backup"`
	Generation int    `json:"generation"`
	Manifest   Sum    `json:"manifest"`
}

func (m *marker) restoreCommand(data string) string {
	return fmt.Sprintf("quarry restore %s --data %s --generation %d", m.Backup, data, m.Generation)
}

// CheckRestored returns an error for a data directory whose restore has not finished.
func CheckRestored(data string) error {
	m, err := readMarker(data)
	if err != nil || m == nil {
		return err
	}
	return fmt.Errorf("%s is partially restored: run %s again, or empty the directory", data, m.restoreCommand(data))
}

func readMarker(data string) (*marker, error) {
	b, err := os.ReadFile(filepath.Join(data, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := new(marker)
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is partially restored, and its restore marker cannot be read: empty the directory and restore again: %w",
			data, err)
	}
	return m, nil
}

// restoreRun is one call of Restore.
type restoreRun struct {
	d          *Directory
	generation int
	to         Target
	o          RestoreOptions
	manifest   Manifest
	totals     Totals
	done       Progress
	folders    map[string]bool // folders that files were written to
}

// Restore writes a generation to an empty target. If an earlier call was interrupted, a
// second call resumes it.
func (d *Directory) Restore(ctx context.Context, generation int, to Target, o RestoreOptions) (m Manifest, t Totals, err error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	r := &restoreRun{d: d, generation: generation, to: to, o: o, folders: map[string]bool{}}
	if r.manifest, r.totals, err = d.Describe(generation); err != nil {
		return m, t, err
	}
	if err := r.checkFit(); err != nil {
		return m, t, err
	}
	// Check the target before locking it: a lock would create a file in a directory that
	// may belong to someone else.
	if err := r.checkTarget(ctx); err != nil {
		return m, t, err
	}
	lock, err := disk.LockDirectory(to.Data)
	if err != nil {
		return m, t, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return r.manifest, r.totals, r.restoreAll(ctx)
}

// checkFit rejects a backup that this release, or this configuration, cannot use.
func (r *restoreRun) checkFit() error {
	known := formatVersions()
	for name, version := range r.manifest.Formats {
		if version > known[name] {
			return fmt.Errorf("generation %d was written by release %.40q, whose %.20q has format version %d; this release reads up to %d: restore it with that release or a later one", r.generation, r.manifest.Release, name, version, known[name])
		}
	}
	if kafka := r.manifest.Log == LogKafka; kafka != r.to.Kafka {
		return fmt.Errorf("generation %d was made with log.driver %s: restore it with the same setting", r.generation, r.manifest.Log)
	}
	return nil
}

// checkTarget rejects a target that is not empty, unless an earlier call of the same
// restore has begun to fill it.
func (r *restoreRun) checkTarget(ctx context.Context) error {
	m, err := readMarker(r.to.Data)
	if err != nil {
		return err
	}
	if m != nil {
		if m.Manifest != r.totals.SHA256 {
			return fmt.Errorf("%s is partially restored from another backup: run %s, or empty the directory", r.to.Data, m.restoreCommand(r.to.Data))
		}
		return nil
	}
	if r.to.Objects != nil {
		if empty, err := r.to.Objects.IsEmpty(ctx); err != nil || !empty {
			return errors.Join(err, errors.New("the segment store in the bucket must be empty: name another folder in storage.segments, or remove its objects"))
		}
	}
	for _, dir := range []string{r.to.Data, r.to.Log, r.to.Segments} {
		if err := refuseOtherFiles(dir, "LOCK", markerName+tempPrefix); err != nil {
			return fmt.Errorf("%w; a backup is restored to an empty directory: name another one with --data, or move its files away", err)
		}
	}
	return nil
}

func (r *restoreRun) restoreAll(ctx context.Context) error {
	if err := r.writeMarker(); err != nil {
		return err
	}
	for _, dir := range []string{r.to.Log, r.to.Segments} {
		if r.to.Kafka && dir == r.to.Log || r.to.Objects != nil && dir == r.to.Segments {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	_, _, err := readManifest(r.d.manifestPath(r.generation), func(f File) error {
		if err := r.restoreFile(ctx, &f); err != nil {
			return fmt.Errorf("restore %s: %w", f.Path, err)
		}
		r.done.Files++
		r.done.Bytes += f.Size
		r.done.FilesTotal = r.totals.Files
		r.o.Progress(r.done)
		return nil
	})
	if err != nil {
		return err
	}
	for dir := range r.folders {
		if err := syncDirectory(dir); err != nil {
			return err
		}
	}
	if err := r.compareRestored(ctx); err != nil {
		return err
	}
	return errors.Join(os.Remove(filepath.Join(r.to.Data, markerName)), syncDirectory(r.to.Data))
}

// writeMarker makes the marker durable before anything else is written.
func (r *restoreRun) writeMarker() error {
	backup, err := filepath.Abs(r.d.path)
	if err != nil {
		return err
	}
	b, err := json.Marshal(&marker{Backup: backup, Generation: r.generation, Manifest: r.totals.SHA256})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(r.to.Data, markerName), b)
}

// replaceFile durably replaces the file at path with text, completely or not at all.
func replaceFile(path string, text []byte) error {
	f, err := os.OpenFile(path+tempPrefix, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(f.Name(), path), syncDirectory(filepath.Dir(path)))
}

// targetPath returns the target of a path in the manifest. checkPath has accepted the
// path.
func (r *restoreRun) targetPath(path string) string {
	if name, ok := strings.CutPrefix(path, logFolder); ok {
		return filepath.Join(r.to.Log, name)
	}
	if name, ok := strings.CutPrefix(path, segmentFolder); ok {
		return filepath.Join(r.to.Segments, name)
	}
	return filepath.Join(r.to.Data, secretPath)
}

// restoreFile writes a file, unless an earlier call has written it.
func (r *restoreRun) restoreFile(ctx context.Context, f *File) error {
	target := r.targetPath(f.Path)
	if r.to.Kafka && strings.HasPrefix(f.Path, logFolder) {
		return fmt.Errorf("%w: a log in a backup of a log on Kafka", ErrManifest)
	}
	name, object := strings.CutPrefix(f.Path, segmentFolder)
	if object = object && r.to.Objects != nil; object {
		target = filepath.Join(r.to.Data, markerName+tempPrefix+"object")
	} else {
		r.folders[filepath.Dir(target)] = true
	}
	if sum, size, err := hashFile(ctx, target); err == nil && sum == f.SHA256 && size == f.Size {
		return nil
	}
	in, _, err := openRegular(r.d.objectPath(f.SHA256))
	if err != nil {
		return r.damagedError(f, err)
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	sum, size, err := copyHashed(ctx, out, in)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	if sum != f.SHA256 || size != f.Size {
		return r.damagedError(f, errors.New("its bytes do not have the checksum that is its name"))
	}
	if object {
		return r.to.Objects.Put(ctx, name, target)
	}
	return nil
}

func (r *restoreRun) damagedError(f *File, err error) error {
	return fmt.Errorf("the object %s of the backup is damaged: %w; restore another generation into an emptied directory, and see quarry restore --verify for all damage", r.d.objectPath(f.SHA256), err)
}

// compareRestored compares the restored files with the manifest: the positions of the log
// and, on request, every byte.
func (r *restoreRun) compareRestored(ctx context.Context) error {
	if r.o.Compare {
		_, _, err := readManifest(r.d.manifestPath(r.generation), func(f File) error {
			if name, ok := strings.CutPrefix(f.Path, segmentFolder); ok && r.to.Objects != nil {
				return r.to.Objects.Check(ctx, name, nil)
			}
			sum, size, err := hashFile(ctx, r.targetPath(f.Path))
			if err == nil && (sum != f.SHA256 || size != f.Size) {
				err = errors.New("it does not read back as it was written: check the disk")
			}
			if err != nil {
				return fmt.Errorf("compare %s: %w", r.targetPath(f.Path), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if r.to.Kafka {
		return nil
	}
	log, err := embeddedlog.Open(r.to.Log, embeddedlog.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	ends, err := endsOf(ctx, log)
	if err := errors.Join(err, log.Close()); err != nil {
		return err
	}
	if !slices.Equal(ends, r.manifest.Positions) {
		return errors.New("the restored log does not end where the backup says it does: restore another generation into an emptied directory")
	}
	return nil
}
