package snapshots

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// recordTimeout bounds the read of one record of the log.
	recordTimeout = 10 * time.Second
	// maxBehind bounds the records that the log has and a snapshot has not applied.
	maxBehind = 1 << 20
)

// Errors of Create.
var (
	// ErrBusy reports that this process is creating a snapshot.
	ErrBusy = errors.New("a snapshot is being created")
	// ErrEmpty reports that the projections have applied no record.
	ErrEmpty = errors.New("the projections have applied no record; there is nothing to write")
	// errBehind reports that the log has an erasure that the rows have not applied.
	errBehind = errors.New("the index has not applied all erasures of the log; create the snapshot again once it has caught up")
	// errReleased reports that an erasure or another process deleted objects meanwhile.
	errReleased = errors.New("segments or objects of the snapshot were deleted while it was created; create it again")
	// errTaken reports that another process creates, or has created, a snapshot with the name.
	errTaken = errors.New("another process has a snapshot with this name; create it again")
)

// Contents knows the rows of the projections.
type Contents struct {
	// Schemas holds the schema version of each projection.
	Schemas map[string]int
	// Edit returns the value with which a row is written.
	Edit store.RowEdit
	// Ranges returns a function that returns the ranges of keys of a partition, ascending, in
	// a log of n partitions. Rows outside of the ranges of all partitions, with other families
	// than those of the places, belong to none.
	Ranges func(r store.Reader, n int32) (func(partition int32) []store.Range, error)
	// Share is that of the process, empty if it holds everything, and Holds reports whether the
	// store holds the rows of a partition. Optional.
	Share string
	Holds func(partition int32) bool
	// Segments returns the segments that rows name and that the segment store has.
	Segments func(store.Reader) (map[segment.ID]bool, error)
}

// Create creates a snapshot of the rows as they are now. After an error, it deletes what it
// has written, unless another process has a snapshot with the same name.
func (a *Archive) Create(ctx context.Context, from *store.Store, contents Contents) (m *Manifest, err error) {
	if !a.creating.TryLock() {
		return nil, ErrBusy
	}
	defer a.creating.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	a.mu.cancel = cancel
	a.mu.Unlock()
	m = &Manifest{
		Name: a.newName(a.o.Now()), CreatedAt: a.o.Now().UTC(), Creator: a.o.Creator,
		StoreFormat: store.FormatVersion, Schemas: contents.Schemas, Share: contents.Share,
	}
	err = a.writeObjects(ctx, m, from, contents)
	a.mu.Lock()
	a.mu.cancel = nil
	a.mu.Unlock()
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, errTaken): // the objects may be those of the other process
		return nil, fmt.Errorf("create snapshot %s: %w", m.Name, err)
	}
	if cleanup := a.Delete(context.WithoutCancel(ctx), m.Name); cleanup != nil && !errors.Is(cleanup, code.ErrNotFound) {
		a.o.Logger.Warn("an incomplete snapshot could not be deleted; a later one removes it after a day", "snapshot", m.Name, "error", cleanup)
	}
	return nil, fmt.Errorf("create snapshot %s: %w", m.Name, err)
}

// writeObjects writes the objects of a snapshot.
func (a *Archive) writeObjects(ctx context.Context, m *Manifest, from *store.Store, contents Contents) (err error) {
	release := a.o.Store.Hold() // no segment leaves before the list is written
	defer release()
	rows := from.NewSnapshot()
	defer func() { err = errors.Join(err, rows.Close()) }()
	if m.StoreIdentity, err = a.o.Store.Identity(ctx); err != nil && !errors.Is(err, code.ErrNotFound) {
		return err
	}
	if err := a.notePositions(ctx, m, rows); err != nil {
		return err
	}
	ids, err := contents.Segments(rows)
	if err != nil {
		return err
	}
	list, err := encodeSegments(ids)
	if err != nil {
		return err
	}
	m.Segments, m.SegmentsSum = len(ids), string(list[:sealBytes-1])
	// The store keeps the first object of a name, and does not say whose it is.
	found, err := a.objectNames(ctx)
	if err == nil && found[m.Name] != nil {
		err = errTaken
	}
	if err != nil {
		return err
	}
	if err := a.objects.PutBytes(ctx, m.Name+segmentsSuffix, list); err != nil {
		return err
	}
	a.mu.Lock()
	a.mu.held[m.Name] = ids
	a.mu.Unlock()
	release()
	if err := a.writeRows(ctx, m, rows, contents); err != nil {
		return err
	}
	// Another process may have deleted a segment before it saw the list, or the list because
	// of text that must go.
	if a.o.Settle != nil {
		if err := a.o.Settle(ctx); err != nil {
			return err
		}
	}
	missing, err := a.missingSegments(ctx, ids)
	if err == nil && missing != "" {
		err = fmt.Errorf("%w: %s is missing", errReleased, missing)
	}
	if err != nil {
		return err
	}
	if err := a.checkCurrent(ctx, m); err != nil {
		return err
	}
	m.Seconds = a.o.Now().Sub(m.CreatedAt).Seconds()
	encoded, err := encodeManifest(m)
	if err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), a.objects.PutBytes(ctx, m.Name+manifestSuffix, encoded)); err != nil {
		return err
	}
	// Two processes with this name may have found it free. The tables are then those of both.
	if stored, err := a.readObject(ctx, m.Name+manifestSuffix, MaxManifestBytes); err != nil || !bytes.Equal(stored, encoded) {
		return errors.Join(errReleased, err)
	}
	// An erasure before the manifest has deleted the list. A later one finds the manifest.
	return a.checkCurrent(ctx, m)
}

// checkCurrent returns an error if the list of segments was deleted, or if the log has an erasure
// after the positions of a snapshot.
func (a *Archive) checkCurrent(ctx context.Context, m *Manifest) error {
	if _, err := a.readSegments(ctx, m.Name); err != nil {
		return errors.Join(errReleased, err)
	}
	return a.checkErasures(ctx, m)
}

// notePositions sets the positions of the rows, with the checksums of the records before
// them.
func (a *Archive) notePositions(ctx context.Context, m *Manifest, rows *store.Snapshot) error {
	n, err := a.o.Log.Partitions(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	applied := false
	for i := range n {
		p := Position{Partition: i}
		if p.Next, err = rows.Checkpoint(i); err != nil {
			return err
		}
		if p.Next > 0 {
			applied = true
			if p.RecordSum, err = a.recordSum(ctx, i, p.Next-1); err != nil {
				return err
			}
		}
		m.Positions = append(m.Positions, p)
	}
	if !applied {
		return ErrEmpty
	}
	return nil
}

// recordSum returns the checksum of a record of the log.
func (a *Archive) recordSum(ctx context.Context, partition int32, at event.Offset) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	for rec, err := range event.ReadRange(ctx, a.o.Log, event.TopicEvents, partition, at, at+1) {
		if err != nil {
			return "", fmt.Errorf("read record %d of partition %d: %w", at, partition, err)
		}
		if rec.Position.Offset != at {
			break
		}
		h := xxh3.New()
		for _, part := range [][]byte{rec.Key, rec.Value} {
			var size [8]byte
			binary.BigEndian.PutUint64(size[:], uint64(len(part)))
			_, _ = h.Write(size[:]) // never fails
			_, _ = h.Write(part)
		}
		sum := h.Sum128().Bytes()
		return hex.EncodeToString(sum[:]), nil
	}
	return "", fmt.Errorf("the log has no record %d in partition %d", at, partition)
}

// checkErasures returns errBehind if the log has an erasure after the positions of a snapshot. The
// process that carries it out may be ahead of this one, and have deleted the older snapshots. If
// it has not, it will find the list of this one.
func (a *Archive) checkErasures(ctx context.Context, m *Manifest) error {
	high, err := a.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	behind := event.Offset(0)
	for _, p := range m.Positions {
		behind += high[p.Partition] - p.Next
	}
	if behind > maxBehind {
		return fmt.Errorf("%w: %d records are left", errBehind, behind)
	}
	for _, p := range m.Positions {
		for rec, err := range event.ReadRange(ctx, a.o.Log, event.TopicEvents, p.Partition, p.Next, high[p.Partition]) {
			if err != nil {
				return fmt.Errorf("read the log after the snapshot: %w", err)
			}
			t := event.TypeOf(rec)
			if t != event.TypeErasureRequested && t != event.TypeRepositoryRemoved {
				continue
			}
			_, ev, err := event.Decode(rec)
			removed, ok := ev.(*event.RepositoryRemoved)
			if err == nil && (!ok || removed.Erase) {
				return fmt.Errorf("%w: %s", errBehind, rec.Position)
			}
		}
	}
	return nil
}

// noPartition are the ranges of keys of the rows that belong to no partition.
var noPartition = []store.Range{
	{Lo: []byte{0}, Hi: []byte{byte(store.FamilyLocal)}},
	{Lo: []byte{byte(store.FamilyLocal) + 1}, Hi: []byte{byte(store.FamilyPlaces)}},
	{Lo: []byte{byte(store.FamilyPlaces) + 1}, Hi: []byte{byte(store.FamilySegments)}},
}

// writeRows writes the rows that are of no partition, and then those of each partition that the
// store holds.
func (a *Archive) writeRows(ctx context.Context, m *Manifest, rows *store.Snapshot, contents Contents) error {
	ranges, err := contents.Ranges(rows, int32(len(m.Positions)))
	if err == nil {
		err = a.writeTables(ctx, m, nil, rows, noPartition, contents.Edit)
	}
	for i := range m.Positions {
		p := int32(i)
		if contents.Holds != nil && !contents.Holds(p) {
			continue
		}
		m.Partitions = append(m.Partitions, p)
		if err == nil {
			err = a.writeTables(ctx, m, &p, rows, ranges(p), contents.Edit)
		}
	}
	return err
}

// writeTables writes the rows in some ranges, which are those of a partition or of none, and
// stores each table as soon as it is complete.
func (a *Archive) writeTables(
	ctx context.Context, m *Manifest, partition *int32, rows *store.Snapshot, ranges []store.Range, edit store.RowEdit,
) (err error) {
	if err := os.MkdirAll(a.o.TempDir, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(a.o.TempDir, "snapshot-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return rows.WriteTables(ctx, dir, ranges, edit, func(t store.Table) error {
		out := Table{Object: tableObject(m.Name, len(m.Tables)), Partition: partition, Rows: t.Rows}
		var err error
		if out.SizeBytes, out.Sum, err = sumFile(t.Path); err != nil {
			return err
		}
		m.Tables = append(m.Tables, out)
		return a.objects.Put(ctx, out.Object, t.Path)
	})
}

// sumFile returns the size and the checksum of a file.
func sumFile(path string) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	h := xxh3.New()
	size, err = io.Copy(h, f)
	b := h.Sum128().Bytes()
	return size, hex.EncodeToString(b[:]), errors.Join(err, f.Close())
}

// missingSegments returns the name of one of the segments that the segment store lacks, or
// an empty string.
func (a *Archive) missingSegments(ctx context.Context, ids map[segment.ID]bool) (string, error) {
	left := make(map[segment.ID]bool, len(ids))
	for id := range ids {
		left[id] = true
	}
	for info, err := range a.o.Store.List(ctx) {
		if err != nil {
			return "", err
		}
		if id, ok := segmentstore.ParseSegmentName(info.Name); ok {
			delete(left, id)
		}
	}
	for id := range left {
		return segmentstore.SegmentName(id), nil
	}
	return "", nil
}
