package places

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// errLost reports that a change would remove the last holder of a document that manifests
// name.
var errLost = errors.New("a document would be lost")

func decodeUint32(b []byte) (uint32, error) {
	if len(b) != 4 {
		return 0, fmt.Errorf("number of %d bytes: %w", len(b), ErrCorrupt)
	}
	return binary.BigEndian.Uint32(b), nil
}

// update is the row of a document before and after the change.
type update struct {
	key           code.DocumentKey
	change        *documentChange
	known         bool
	before, after documentRow
}

// flush writes the changes of documents, places and segments. If the change would lose a
// document, it writes nothing and returns errLost.
func (c *change) flush() error {
	updates, err := c.readUpdates()
	if err != nil {
		return err
	}
	for i := range updates {
		u := &updates[i]
		if !c.mayLose && u.after.count > 0 && len(u.after.holders) == 0 && len(u.before.holders) > 0 {
			return fmt.Errorf("%s as %q: %w", u.key.Blob, u.key.Language, errLost)
		}
	}
	w := &writer{change: c, live: map[uint32]*liveness{}, removed: map[uint32]bool{}}
	for i := range updates {
		if err := w.write(&updates[i]); err != nil {
			return err
		}
	}
	return w.writeSegments()
}

// readUpdates reads the changed documents in the order of their keys, so that the reads
// are sequential.
func (c *change) readUpdates() ([]update, error) {
	updates := make([]update, 0, len(c.documents))
	for k, d := range c.documents {
		updates = append(updates, update{key: k, change: d})
	}
	slices.SortFunc(updates, func(a, b update) int { return compareDocuments(a.key, b.key) })
	prefix := partitionPrefix(kindDocument, c.at.Partition)
	it, err := c.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return nil, err
	}
	for i := range updates {
		if err := updates[i].read(it, c.at.Partition); err != nil {
			return nil, errors.Join(err, it.Close())
		}
	}
	return updates, it.Close()
}

func (u *update) read(it *store.Iterator, partition int32) (err error) {
	k := documentKey(kindDocument, partition, u.key)
	if it.SeekGE(k) && bytes.Equal(it.Key(), k) {
		if u.before, err = decodeDocumentRow(it.Value()); err != nil {
			return err
		}
		u.known = true
	}
	count := int64(u.before.count) + int64(u.change.delta)
	if count < 0 {
		return fmt.Errorf("document %s has a count of %d: %w", u.key.Blob, count, ErrCorrupt)
	}
	u.after.count = uint64(count)
	for _, h := range u.before.holders {
		if !slices.Contains(u.change.lost, h.sequence) {
			u.after.holders = append(u.after.holders, h)
		}
	}
	for _, h := range u.change.gained {
		i, found := slices.BinarySearchFunc(u.after.holders, h, func(a, b location) int { return int(int64(a.sequence) - int64(b.sequence)) })
		if !found {
			u.after.holders = slices.Insert(u.after.holders, i, h)
		}
	}
	return nil
}

// liveness is the change of a segment's live documents.
type liveness struct {
	documents int
	bytes     int64
}

// writer writes the updates of a change.
type writer struct {
	*change
	live  map[uint32]*liveness
	value []byte
	// removed contains the segments with text that no manifest names after the record.
	removed map[uint32]bool
}

func (w *writer) write(u *update) error {
	if err := w.writeDocumentRow(u); err != nil {
		return err
	}
	if err := w.updateUnheld(u); err != nil {
		return err
	}
	from, to := u.before.firstHolder(), u.after.firstHolder()
	if u.before.count > 0 {
		w.adjustLiveness(from, -1)
	}
	if u.after.count > 0 {
		w.adjustLiveness(to, 1)
	} else if u.before.count > 0 {
		w.removedUnheld = w.removedUnheld || len(u.after.holders) == 0
		for _, h := range u.after.holders { // each holder contains the text
			w.removed[h.sequence] = true
		}
	}
	if from == to || !u.known {
		return w.writePlaces(u, to)
	}
	if from.sequence != 0 || u.before.count > 0 {
		w.stage.moved = true
	}
	return w.movePlaces(u, from, to)
}

func (w *writer) writeDocumentRow(u *update) error {
	k := documentKey(kindDocument, w.at.Partition, u.key)
	if u.after.count == 0 && len(u.after.holders) == 0 {
		if !u.known {
			return nil
		}
		return w.b.Delete(k)
	}
	w.value = u.after.append(w.value[:0])
	return w.b.Set(k, w.value)
}

// updateUnheld updates the rows of documents that manifests name and no segment holds.
func (w *writer) updateUnheld(u *update) error {
	before := u.before.count > 0 && len(u.before.holders) == 0
	after := u.after.count > 0 && len(u.after.holders) == 0
	if before == after {
		return nil
	}
	k := documentKey(kindUnheld, w.at.Partition, u.key)
	if after {
		w.stage.unheld++
		return w.b.Set(k, nil)
	}
	w.stage.unheld--
	return w.b.Delete(k)
}

// adjustLiveness records that the document at l becomes live (delta 1) or dead (delta
// -1).
func (w *writer) adjustLiveness(l location, delta int) {
	if l.sequence == 0 || w.dropped[l.sequence] {
		return
	}
	h := w.findHandle(l.sequence)
	if h.reader == nil {
		return // it is unreadable now
	}
	lo, hi := h.reader.TextRange(l.document)
	live := w.live[l.sequence]
	if live == nil {
		live = &liveness{}
		w.live[l.sequence] = live
	}
	live.documents += delta
	live.bytes += int64(delta * (hi - lo))
}

func (c *change) findHandle(sequence uint32) *handle {
	for _, h := range c.added {
		if h.sequence == sequence {
			return h
		}
	}
	return c.part.bySequence[sequence]
}

// writePlaces writes the added and removed places of a document whose location stays the
// same.
func (w *writer) writePlaces(u *update, at location) error {
	if len(u.change.places) == 0 {
		return nil
	}
	prefix := w.placePrefix(u.key, at)
	for _, p := range latestPlaceChanges(u.change.places) {
		if err := w.putPlace(prefix, at, p); err != nil {
			return err
		}
	}
	return nil
}

// movePlaces moves the places of a document from one location to another.
func (w *writer) movePlaces(u *update, from, to location) error {
	placings, err := w.readPlaces(u.key, from)
	if err != nil {
		return err
	}
	source, target := w.placePrefix(u.key, from), w.placePrefix(u.key, to)
	for _, p := range placings {
		p.removed = true
		if err := w.putPlace(source, from, p); err != nil {
			return err
		}
	}
	for _, p := range latestPlaceChanges(append(placings, u.change.places...)) {
		if p.removed {
			continue
		}
		if err := w.putPlace(target, to, p); err != nil {
			return err
		}
	}
	return nil
}

// readPlaces reads the places of a document at a location.
func (w *writer) readPlaces(d code.DocumentKey, at location) ([]placeChange, error) {
	prefix := w.placePrefix(d, at)
	it, err := w.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return nil, err
	}
	var placings []placeChange
	for ok := it.First(); ok; ok = it.Next() {
		k, v := it.Key()[len(prefix):], it.Value()
		if len(k) < 8 || len(v) != 1 {
			return nil, errors.Join(fmt.Errorf("place %q: %w", it.Key(), ErrCorrupt), it.Close())
		}
		placings = append(placings, placeChange{
			repository: code.RepositoryID(binary.BigEndian.Uint64(k)), path: string(k[8:]), flags: code.Flags(v[0]),
		})
	}
	return placings, it.Close()
}

func (w *writer) placePrefix(d code.DocumentKey, at location) []byte {
	if at.sequence == 0 {
		return waitingPrefix(w.at.Partition, d)
	}
	return placesPrefix(w.at.Partition, at)
}

// putPlace writes or deletes one place, both in the store and for the view.
func (w *writer) putPlace(prefix []byte, at location, p placeChange) error {
	if at.sequence != 0 && !w.dropped[at.sequence] {
		w.stage.addPlace(at, p)
	}
	k := appendPlace(prefix, p.repository, p.path)
	if p.removed {
		return w.b.Delete(k)
	}
	return w.b.Set(k, []byte{byte(p.flags)})
}

// latestPlaceChanges returns the last change of each place in the list. It may reorder
// the list.
func latestPlaceChanges(list []placeChange) []placeChange {
	if len(list) < 2 {
		return list
	}
	slices.SortStableFunc(list, comparePlaceChanges)
	last := list[:0]
	for i := range list {
		if i+1 == len(list) || comparePlaceChanges(list[i], list[i+1]) != 0 {
			last = append(last, list[i])
		}
	}
	return last
}

func comparePlaceChanges(a, b placeChange) int {
	if a.repository != b.repository {
		if a.repository < b.repository {
			return -1
		}
		return 1
	}
	return strings.Compare(a.path, b.path)
}

// writeSegments writes the rows of added, removed and changed segments.
func (w *writer) writeSegments() error {
	for _, h := range w.added {
		l := w.live[h.sequence]
		if l != nil {
			h.row.Live, h.row.LiveBytes = l.documents, l.bytes
			delete(w.live, h.sequence)
		}
		if err := w.addSegment(h); err != nil {
			return err
		}
	}
	if err := w.writeMarks(); err != nil {
		return err
	}
	for sequence, l := range w.live {
		row := w.part.bySequence[sequence].row
		row.Live += l.documents
		row.LiveBytes += l.bytes
		w.stage.rows = append(w.stage.rows, rowOf{sequence, row})
		if err := writeRow(w.b, segmentKey(w.at.Partition, sequence), &row); err != nil {
			return err
		}
	}
	for _, sequence := range slices.Sorted(maps.Keys(w.dropped)) {
		if err := w.dropSegment(w.part.bySequence[sequence]); err != nil {
			return err
		}
	}
	if w.next == 0 {
		return nil
	}
	return w.b.Set(partitionPrefix(kindSequence, w.at.Partition), store.AppendUint32(nil, w.next))
}

func (w *writer) addSegment(h *handle) error {
	w.stage.added = append(w.stage.added, h)
	sequence := store.AppendUint32(nil, h.sequence)
	if err := w.b.Set(segmentIDKey(kindSegmentID, w.at.Partition, h.id), sequence); err != nil {
		return err
	}
	origins := make([]byte, 0, 8*len(h.origins))
	for _, id := range h.origins {
		origins = store.AppendUint64(origins, uint64(id))
	}
	if err := w.b.Set(originsKey(w.at.Partition, h.sequence), origins); err != nil {
		return err
	}
	return writeRow(w.b, segmentKey(w.at.Partition, h.sequence), &h.row)
}

func (w *writer) dropSegment(h *handle) error {
	w.stage.dropped = append(w.stage.dropped, h)
	for _, k := range [][]byte{segmentKey(w.at.Partition, h.sequence), originsKey(w.at.Partition, h.sequence)} {
		if err := w.b.Delete(k); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(w.added, func(a *handle) bool { return a.id == h.id }) {
		if err := w.b.Delete(segmentIDKey(kindSegmentID, w.at.Partition, h.id)); err != nil {
			return err
		}
	}
	if err := w.b.Set(segmentIDKey(kindGone, w.at.Partition, h.id), nil); err != nil {
		return err
	}
	if err := w.b.Delete(markKey(w.at.Partition, h.sequence)); err != nil {
		return err
	}
	lo := store.AppendUint32(partitionPrefix(kindPlace, w.at.Partition), h.sequence)
	return w.b.DeleteRange(lo, store.Successor(lo))
}
