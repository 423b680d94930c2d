package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// installation is a data directory without a server.
type installation struct {
	dir string
	log *embeddedlog.Log
	n   int // number of checkpoints created
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{dir: t.TempDir()}
	var err error
	if i.log, err = embeddedlog.Open(filepath.Join(i.dir, "log"), embeddedlog.Options{Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.log.Close() })
	writeFile(t, filepath.Join(i.dir, "secret.key"), "secret\n")
	writeFile(t, filepath.Join(i.dir, "segments", "unnamed"), "no record names it")
	return i
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// segmentID returns the ID of the nth test segment.
func segmentID(n int) string {
	sum := sha256.Sum256(fmt.Append(nil, n))
	return hex.EncodeToString(sum[:16])
}

// indexSegment appends the events that a worker appends for a push, and stores the
// segment.
func (i *installation) indexSegment(t *testing.T, n int) {
	t.Helper()
	writeFile(t, filepath.Join(i.dir, "segments", segmentName(segmentID(n))), strings.Repeat(fmt.Sprint("text of ", n, "\n"), 100))
	i.append(t, &event.RevisionIndexed{
		Repository: 42, Ref: "refs/heads/main", Commit: code.CommitID(strings.Repeat("1", 40)),
		Segments: []event.SegmentRef{{ID: segmentID(n), SizeBytes: 1, TextBytes: 1, Documents: 1}},
		Cause:    event.Position{Topic: event.TopicEvents}, PushedAt: time.Unix(1, 0).UTC(), IndexedAt: time.Unix(2, 0).UTC(),
	})
}

func (i *installation) append(t *testing.T, ev event.Event) {
	t.Helper()
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprint(time.Now().UnixNano()), Source: "/test", Time: time.Now()}, ev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.log.Append(t.Context(), event.TopicEvents, 0, rec); err != nil {
		t.Fatal(err)
	}
}

// newSource creates a checkpoint.
func (i *installation) newSource(t *testing.T) Source {
	t.Helper()
	i.n++
	dir := filepath.Join(i.dir, "log", fmt.Sprint("backup-", i.n))
	if err := i.log.Checkpoint(dir); err != nil {
		t.Fatal(err)
	}
	return Source{Log: dir, Segments: filepath.Join(i.dir, "segments"), Secret: filepath.Join(i.dir, "secret.key"), Release: "v1.2.3"}
}

func (i *installation) backUp(t *testing.T, dir string, o Options) Result {
	t.Helper()
	d := mustCreate(t, dir)
	defer mustClose(t, d)
	r, err := d.Write(t.Context(), i.newSource(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOldGenerationCannotBeRemoved removes the manifest of an old generation while a backup is
// written: the new generation is complete, and the error says so.
func TestOldGenerationCannotBeRemoved(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	i.backUp(t, dir, Options{})
	d := mustCreate(t, dir)
	defer mustClose(t, d)
	_, err := d.Write(t.Context(), i.newSource(t), Options{Keep: 1, Progress: func(Progress) { _ = os.Remove(d.manifestPath(1)) }})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "generation 2 is complete") {
		t.Errorf("a backup that could not remove an older one: %v, want %v and that generation 2 is complete", err, fs.ErrNotExist)
	}
}

func mustCreate(t *testing.T, dir string) *Directory {
	t.Helper()
	d, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustClose(t *testing.T, d *Directory) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func targetIn(data string) Target {
	return Target{Data: data, Log: filepath.Join(data, "log"), Segments: filepath.Join(data, "segments")}
}

func restoreGeneration(t *testing.T, dir string, generation int, data string) error {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		return err
	}
	if generation, err = d.Choose(generation); err != nil {
		return err
	}
	_, _, err = d.Restore(t.Context(), generation, targetIn(data), RestoreOptions{Compare: true})
	return err
}

// verifyNewest verifies the newest generation.
func verifyNewest(t *testing.T, dir string) (found []Damage) {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	generation, err := d.Choose(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Verify(t.Context(), generation, func(f Damage) { found = append(found, f) }, func(Progress) {}); err != nil {
		t.Fatal(err)
	}
	return found
}

// filesOf returns the text of every file below dir.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "LOCK" {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDeletedPreciseIndexIsLeftOut backs up the precise index that is left, although the
// object of the deleted one is still in the store.
func TestDeletedPreciseIndexIsLeftOut(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	for _, object := range []string{"scip-1", "scip-2"} {
		writeFile(t, filepath.Join(i.dir, "segments", object), "index")
		i.append(t, &event.ScipUploaded{Repository: 42, Commit: code.CommitID(strings.Repeat("1", 40)), Object: object, Keep: 2, At: time.Unix(1, 0)})
	}
	i.append(t, &event.ScipDeleted{Repository: 42, Object: "scip-1", At: time.Unix(2, 0)})
	i.backUp(t, dir, Options{})
	data := filepath.Join(t.TempDir(), "data")
	if err := restoreGeneration(t, dir, 0, data); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, data)
	if files["segments/scip-2"] != "index" || files["segments/scip-1"] != "" {
		t.Errorf("restored %v, want scip-2 and not scip-1", slices.Sorted(maps.Keys(files)))
	}
}

func TestRestoreBringsBackWhatWasThere(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	i.indexSegment(t, 1)
	first := i.backUp(t, dir, Options{})
	i.indexSegment(t, 2)
	second := i.backUp(t, dir, Options{})
	if first.Generation != 1 || second.Generation != 2 || first.Manifest.Positions[len(first.Manifest.Positions)-2].Offset != 1 {
		t.Errorf("generations %+v and %+v", first, second)
	}
	for generation, segments := range map[int]int{1: 1, 2: 2} {
		data := filepath.Join(t.TempDir(), "data")
		if err := restoreGeneration(t, dir, generation, data); err != nil {
			t.Fatal(err)
		}
		files := filesOf(t, data)
		if files["secret.key"] != "secret\n" || files["segments/unnamed"] != "" || files[markerName] != "" {
			t.Errorf("generation %d: %v", generation, slices.Sorted(maps.Keys(files)))
		}
		n := 0
		for name := range files {
			if strings.HasPrefix(name, "segments/segment-") {
				n++
			}
		}
		log, err := embeddedlog.Open(filepath.Join(data, "log"), embeddedlog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		high, err := log.HighWater(t.Context(), event.TopicEvents)
		if err != nil || high[0] != event.Offset(segments) || n != segments {
			t.Errorf("generation %d: %d segments, high-water marks %v: %v", generation, n, high, err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBackupIsIncremental(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	for n := range 20 {
		i.indexSegment(t, n)
	}
	i.backUp(t, dir, Options{})
	i.indexSegment(t, 20)
	second := i.backUp(t, dir, Options{})
	for _, f := range filesOf(t, filepath.Join(dir, "objects")) {
		if strings.Contains(f, "no record names it") {
			t.Error("an object that no record names was copied")
		}
	}
	if second.Totals.Files < 21 || second.Copied.Files > 5 { // the segment, and the changed files of the log
		t.Errorf("%d of %d files were copied", second.Copied.Files, second.Totals.Files)
	}
	// After a restore the times differ, but not the bytes.
	now := time.Now().Add(time.Hour)
	for n := range 21 {
		if err := os.Chtimes(filepath.Join(i.dir, "segments", segmentName(segmentID(n))), now, now); err != nil {
			t.Fatal(err)
		}
	}
	if third := i.backUp(t, dir, Options{}); third.Copied.Files > 4 {
		t.Errorf("%d files were copied again", third.Copied.Files)
	}
	if found := verifyNewest(t, dir); len(found) > 0 {
		t.Errorf("damages: %v", found)
	}
}

func TestRetentionRemovesTheOldest(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	for n := range 5 {
		i.indexSegment(t, n)
		i.append(t, &event.SegmentsMerged{Partition: 0, Inputs: []string{segmentID(n)}, At: time.Unix(1, 0).UTC()})
		if n > 0 {
			if err := os.Remove(filepath.Join(i.dir, "segments", segmentName(segmentID(n-1)))); err != nil {
				t.Fatal(err)
			}
		}
		i.backUp(t, dir, Options{Keep: 2})
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Generations()
	if err != nil || !slices.Equal(all, []int{4, 5}) {
		t.Errorf("generations %v: %v", all, err)
	}
	text := strings.Join(slices.Collect(maps.Values(filesOf(t, filepath.Join(dir, "objects")))), "")
	for n := range 5 {
		if has := strings.Contains(text, fmt.Sprint("text of ", n, "\n")); has != (n >= 3) {
			t.Errorf("the segment of generation %d: kept is %t", n+1, has)
		}
	}
	for _, generation := range all {
		if err := restoreGeneration(t, dir, generation, filepath.Join(t.TempDir(), "data")); err != nil {
			t.Error(err)
		}
	}
}

// TestMissingObjectsAreNamed backs up a store that has lost a segment.
func TestMissingObjectsAreNamed(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	for n := range 3 {
		i.indexSegment(t, n)
	}
	i.append(t, &event.SegmentsMerged{Partition: 0, Inputs: []string{segmentID(0)}, At: time.Unix(1, 0).UTC()})
	for n := range 2 {
		if err := os.Remove(filepath.Join(i.dir, "segments", segmentName(segmentID(n)))); err != nil {
			t.Fatal(err)
		}
	}
	r := i.backUp(t, dir, Options{})
	if r.Manifest.Missing != 1 || !slices.Equal(r.Manifest.MissingNames, []string{segmentName(segmentID(1))}) {
		t.Errorf("missing %d: %v", r.Manifest.Missing, r.Manifest.MissingNames)
	}
}

// TestDamageIsFound flips one byte in each file of a backup.
func TestDamageIsFound(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	i.indexSegment(t, 1)
	i.backUp(t, dir, Options{})
	for name, text := range filesOf(t, dir) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			variants := []string{text + "x"}
			if text != "" {
				variants = append(variants, "", text[:len(text)/2], "x"+text[1:])
			}
			for _, wrong := range variants {
				writeFile(t, path, wrong)
				data := filepath.Join(t.TempDir(), "data")
				err := restoreGeneration(t, dir, 0, data)
				if err == nil {
					t.Errorf("%.20q was restored", wrong)
				}
				if strings.HasPrefix(name, objectsDir) {
					if found := verifyNewest(t, dir); len(found) == 0 || found[0].Object != path {
						t.Errorf("%.20q: %v", wrong, found)
					}
					if CheckRestored(data) == nil {
						t.Errorf("%.20q: a server would start on %s", wrong, data)
					}
				} else if !errors.Is(err, ErrManifest) {
					t.Errorf("%.20q: %v, want %v", wrong, err, ErrManifest)
				}
			}
			writeFile(t, path, text)
		})
	}
	if err := restoreGeneration(t, dir, 0, filepath.Join(t.TempDir(), "data")); err != nil {
		t.Error(err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	i.indexSegment(t, 1)
	i.backUp(t, dir, Options{})
	full := t.TempDir()
	writeFile(t, filepath.Join(full, "precious"), "x")
	if err := restoreGeneration(t, dir, 0, full); err == nil || !strings.Contains(err.Error(), `has "precious"`) {
		t.Errorf("restored over other files: %v", err)
	}
	if entries, err := os.ReadDir(full); err != nil || len(entries) != 1 {
		t.Errorf("a refused restore left %v: %v", entries, err)
	}
	if err := restoreGeneration(t, dir, 7, filepath.Join(t.TempDir(), "data")); err == nil || !strings.Contains(err.Error(), "no generation 7") {
		t.Errorf("generation 7: %v", err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	to := targetIn(filepath.Join(t.TempDir(), "data"))
	to.Kafka = true
	if _, _, err := d.Restore(t.Context(), 1, to, RestoreOptions{}); err == nil || !strings.Contains(err.Error(), "log.driver embedded") {
		t.Errorf("an embedded log for a server on Kafka: %v", err)
	}
	if _, err := Open(full); err == nil {
		t.Error("a directory without backups was opened")
	}
	if _, err := Create(full); err == nil {
		t.Error("a backup was begun among other files")
	}
}

// TestManifestsOfOthers checks which heads and paths are rejected.
func TestManifestsOfOthers(t *testing.T) {
	head := Manifest{Version: FormatVersion, Log: LogEmbedded, Release: "v9.9.9", Formats: map[string]int{"segment": 1}}
	newer, newerSegments := head, head
	newer.Version, newerSegments.Formats = FormatVersion+1, map[string]int{"segment": 1000}
	for _, test := range []struct {
		head Manifest
		path string
		want string
	}{
		{newer, "log/1", "use release \"v9.9.9\""},
		{newerSegments, "log/1", "restore it with that release"},
		{head, "../operator.token", "path"},
		{head, "log/../../x", "path"},
		{head, "log/a/b", "path"},
		{head, "segments/..", "path"},
		{head, "segments/~x", "path"},
		{head, "/etc/passwd", "path"},
		{head, "operator.token", "path"},
		{head, "", "path"},
	} {
		dir := filepath.Join(t.TempDir(), "backups")
		d := mustCreate(t, dir)
		var text strings.Builder
		m := newManifestWriter(&text, &test.head)
		m.addFile(File{Path: test.path})
		if _, err := m.close(); err != nil {
			t.Fatal(err)
		}
		writeFile(t, d.manifestPath(1), text.String())
		mustClose(t, d)
		if err := restoreGeneration(t, dir, 0, filepath.Join(t.TempDir(), "data")); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v %q: %v", test.head, test.path, err)
		}
	}
}

// TestOneWriter checks that a concurrent backup to the same directory is refused.
func TestOneWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "backups")
	d := mustCreate(t, dir)
	defer mustClose(t, d)
	if _, err := Create(dir); err == nil || !strings.Contains(err.Error(), "wait until it has ended") {
		t.Errorf("a second writer: %v", err)
	}
}

func TestWriteIsCanceled(t *testing.T) {
	i, dir := newInstallation(t), filepath.Join(t.TempDir(), "backups")
	i.indexSegment(t, 1)
	d := mustCreate(t, dir)
	defer mustClose(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := d.Write(ctx, i.newSource(t), Options{Progress: func(Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v, want %v", err, context.Canceled)
	}
	if all, err := d.Generations(); err != nil || len(all) > 0 {
		t.Errorf("generations %v: %v", all, err)
	}
}
