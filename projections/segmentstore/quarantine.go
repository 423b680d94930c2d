package segmentstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// quarantineDir is the directory of damaged objects, below that of the store.
const quarantineDir = "quarantine"

// Bounds of the quarantine. Objects beyond them are removed when another object is added,
// and when the store is opened.
const (
	MaxQuarantined = 128
	QuarantineAge  = 30 * 24 * time.Hour
)

// NotifyQuarantine implements Driver.
func (d *Directory) NotifyQuarantine(f func(name, path string, cause error)) { d.quarantined = f }

// Check implements Store.
func (d *Directory) Check(ctx context.Context, name string, p *integrity.Pace) error {
	path, err := d.objectPath(name)
	if err == nil {
		err = checkObject(ctx, name, path, p)
	}
	if err != nil {
		return fmt.Errorf("segment store: check %s: %w", name, d.identity.confirmMissing(ctx, notFound(err)))
	}
	return nil
}

// IsObject reports whether the file at path shares its storage with an object.
func (d *Directory) IsObject(name, path string) bool {
	object, err := d.objectPath(name)
	if err != nil {
		return false
	}
	a, errA := os.Stat(object)
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// checkObject verifies the file at path against its name.
func checkObject(ctx context.Context, name, path string, p *integrity.Pace) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if id, ok := ParseSegmentName(name); ok {
		return checkSegment(ctx, id, path, p)
	}
	if _, sum, ok := splitScipName(name); ok {
		return checkSum(ctx, sum, path, p)
	}
	sum, found := strings.CutPrefix(name, manifestPrefix)
	if !found {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > MaxEncodedChangesBytes {
		return fmt.Errorf("%w: %s: %d bytes, at most %d", ErrCorrupt, path, info.Size(), int64(MaxEncodedChangesBytes))
	}
	if err := p.Wait(ctx, int(info.Size())); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if got := xxh3.Hash128(b).Bytes(); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("%w: %s: its checksum is not its name", ErrCorrupt, path)
	}
	return nil
}

// checkSum verifies the checksum of a file, which may be large.
func checkSum(ctx context.Context, sum, path string, p *integrity.Pace) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := xxh3.New()
	buffer := make([]byte, 1<<20)
	for {
		n, err := f.Read(buffer)
		_, _ = hash.Write(buffer[:n]) // never returns an error
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := p.Wait(ctx, n); err != nil {
			return err
		}
	}
	if got := hash.Sum128().Bytes(); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("%w: %s: its checksum is not its name", ErrCorrupt, path)
	}
	return nil
}

func checkSegment(ctx context.Context, id segment.ID, path string, p *integrity.Pace) error {
	err := integrity.CheckTable(ctx, path, p)
	if errors.Is(err, integrity.ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return err
	}
	f, err := segment.OpenFile(path, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	got := f.ID()
	if err := f.Close(); err != nil {
		return err
	}
	if got != id {
		return fmt.Errorf("%w: %s holds segment %s", ErrCorrupt, path, got)
	}
	return nil
}

// Quarantine implements Store.
func (d *Directory) Quarantine(ctx context.Context, name string) (bool, error) {
	cause := d.Check(ctx, name, nil)
	if !errors.Is(cause, ErrCorrupt) {
		if errors.Is(cause, code.ErrNotFound) {
			cause = nil
		}
		return false, cause
	}
	moved, err := d.moveToQuarantine(ctx, name)
	if err != nil {
		return false, fmt.Errorf("segment store: move damaged %s to the quarantine: %w", name, err)
	}
	if moved != "" {
		d.quarantined(name, moved, cause)
	}
	return moved != "", nil
}

// moveToQuarantine moves an object that was just found damaged, and returns its new path,
// or "" if another process was faster.
func (d *Directory) moveToQuarantine(ctx context.Context, name string) (string, error) {
	source, err := d.objectPath(name)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(d.dir, quarantineDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	target := quarantinePath(d.dir, name, time.Now())
	if err := os.Rename(source, target); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return "", err
	}
	if checkObject(ctx, name, target, nil) == nil {
		// Another process had already moved the damaged object, and a third one stored
		// this object.
		return "", d.publishFile(target, source)
	}
	return target, errors.Join(syncDir(dir), syncDir(d.dir), d.pruneQuarantine(time.Now()))
}

// quarantinePath returns the path for an object that is found damaged at a given time.
func quarantinePath(dir, name string, at time.Time) string {
	return filepath.Join(dir, quarantineDir, name+"~"+strconv.FormatInt(at.UnixNano(), 36))
}

// emptyQuarantine removes the damaged copies of a deleted object, because its text may
// have to be removed from the disk.
func (d *Directory) emptyQuarantine(name string) error {
	copies, err := filepath.Glob(filepath.Join(d.dir, quarantineDir, name+"~*"))
	for _, path := range copies {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// EmptyQuarantine implements Driver.
func (d *Directory) EmptyQuarantine(context.Context) (n int, err error) {
	copies, err := filepath.Glob(filepath.Join(d.dir, quarantineDir, "*"))
	for _, path := range copies {
		removed := os.Remove(path)
		if removed == nil {
			n++
		}
		err = errors.Join(err, removed)
	}
	return n, err
}

// pruneQuarantine removes objects beyond the bounds, oldest first.
func (d *Directory) pruneQuarantine(now time.Time) error {
	dir := filepath.Join(d.dir, quarantineDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, name := range quarantineBeyondBounds(names, now) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// quarantineBeyondBounds returns the names in the quarantine that are too old or too many.
func quarantineBeyondBounds(names []string, now time.Time) (beyond []string) {
	type item struct {
		name string
		at   int64
	}
	var items []item
	for _, name := range names {
		_, at, _ := strings.Cut(name, "~")
		n, _ := strconv.ParseInt(at, 36, 64) // 0, the oldest, for a file with another name
		items = append(items, item{name, n})
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(b.at, a.at) })
	for i, item := range items {
		if i >= MaxQuarantined || now.Sub(time.Unix(0, item.at)) >= QuarantineAge {
			beyond = append(beyond, item.name)
		}
	}
	return beyond
}
