package places

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
)

// Text of a removed repository or branch is dead immediately: no search finds it. It
// stays in its segments until they are rewritten. To bound that time, a segment is marked
// with the time of the removal that left such text in it. The compactor rewrites it in
// time, and the sweeper deletes the replaced segment.
//
// A removed branch marks the segments with documents that only the branch named. A
// removed repository marks every segment of its partition that has dead documents,
// because text that earlier pushes removed from the repository is in one of them, and it
// is unknown in which. Text that a push removes from a branch marks no segment; a later
// merge drops it.
//
// Segments that were merged away before the removal also have the text. They are deleted soon,
// but for those that a snapshot names. All that wait in the partition are therefore marked, too,
// and the snapshots that name one of them are deleted in time.
//
// Marks are local to this directory: a store that is built from the log does not know
// which documents an absent segment had, and may mark other segments. The output of a
// merge inherits the marks of its inputs as long as it contains dead documents.

// writeMarks stages the marks that the record sets and clears.
func (w *writer) writeMarks() error {
	oldest := time.Time{} // oldest mark of the inputs of a merge
	for sequence := range w.dropped {
		oldest = earlierTime(oldest, w.part.bySequence[sequence].removedAt)
	}
	for _, h := range w.added {
		at := earlierTime(oldest, w.removedAt)
		if known := w.part.bySequence[h.sequence]; known != nil {
			at = earlierTime(at, known.removedAt)
		}
		if err := w.setMark(h, at, h.row.Live); err != nil {
			return err
		}
	}
	for sequence, h := range w.part.bySequence {
		if w.dropped[sequence] || slices.ContainsFunc(w.added, func(a *handle) bool { return a.sequence == sequence }) {
			continue
		}
		at, live := h.removedAt, h.row.Live
		if l := w.live[sequence]; l != nil {
			live += l.documents
		}
		if w.wholeRepository || w.removed[sequence] || w.removedUnheld && h.reader == nil {
			at = earlierTime(at, w.removedAt)
		}
		if err := w.setMark(h, at, live); err != nil {
			return err
		}
	}
	if !w.removedAt.IsZero() && (w.wholeRepository || len(w.removed) > 0 || w.removedUnheld) {
		return w.markWaiting()
	}
	return nil
}

// markWaiting stages the mark of the segments of the partition that wait for their deletion
// and have none.
func (w *writer) markWaiting() error {
	w.stage.waitingMark = w.removedAt
	marked := map[string][]byte{}
	err := forEachRow(w.b, store.AppendUint32(doomedPrefix(), uint32(w.at.Partition)), func(k, v []byte) error {
		h, err := doomedHandle(k, v)
		if err == nil && h.removedAt.IsZero() {
			h.removedAt = w.removedAt
			marked[string(k)] = h.appendDoomed(nil)
		}
		return err
	})
	for _, k := range slices.Sorted(maps.Keys(marked)) {
		err = firstError(err, w.b.Set([]byte(k), marked[k]))
	}
	return err
}

// setMark stages the mark of a segment with that many live documents. It sets no mark if
// all documents are live.
func (w *writer) setMark(h *handle, at time.Time, live int) error {
	if h.reader != nil && live >= h.row.Documents {
		at = time.Time{}
	}
	if at.Equal(h.removedAt) {
		return nil
	}
	if w.stage.marks == nil {
		w.stage.marks = map[uint32]time.Time{}
	}
	w.stage.marks[h.sequence] = at
	k := markKey(w.at.Partition, h.sequence)
	if at.IsZero() {
		return w.b.Delete(k)
	}
	return w.b.Set(k, appendMark(nil, at))
}

func appendMark(b []byte, at time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(at.UnixNano()))
}

func parseMark(b []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC()
}

// takeMarks applies the staged marks to the partition.
func (part *partition) takeMarks(s *staged) {
	for _, sequence := range slices.Sorted(maps.Keys(s.marks)) {
		part.bySequence[sequence].removedAt = s.marks[sequence]
	}
}

// loadMarks reads the marks. It ignores marks of segments that do not exist, which are
// left over from rows that were rebuilt.
func (p *Places) loadMarks() error {
	return forEachRow(p.store, []byte{byte(store.FamilyLocal), kindMark}, func(k, v []byte) error {
		if len(k) != partitionPrefixLen+4 || len(v) != 8 {
			return ErrCorrupt
		}
		part := p.ensurePartition(int32(binary.BigEndian.Uint32(k[2:])))
		if h := part.bySequence[binary.BigEndian.Uint32(k[partitionPrefixLen:])]; h != nil {
			h.removedAt = parseMark(v)
		}
		return nil
	})
}

// earlierTime returns the earlier of two times; zero means no time.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// PendingRemoval describes text of removed repositories and branches that is still on
// disk.
type PendingRemoval struct {
	// Segments counts the segments that contain such text, or will be deleted because of
	// it.
	Segments int
	// TextBytes is the size of all dead text in them.
	TextBytes int64
	// Oldest is the time of the oldest removal; zero if none is pending.
	Oldest time.Time
}

func (w *PendingRemoval) add(removedAt time.Time, textBytes int64) {
	if removedAt.IsZero() {
		return
	}
	w.Segments++
	w.TextBytes += textBytes
	w.Oldest = earlierTime(w.Oldest, removedAt)
}

// PendingRemoval returns the removed text that is still on disk.
func (p *Places) PendingRemoval() PendingRemoval {
	v := p.Acquire()
	defer v.Release()
	w := p.sweep.pendingRemoval()
	for _, info := range v.SegmentInfos() {
		if info.LiveDocuments < info.Documents {
			w.add(info.RemovedAt, info.TextBytes-info.LiveBytes)
		}
	}
	return w
}

// purgeSummary counts the segments deleted since the last time that none was pending.
type purgeSummary struct {
	segments int
	oldest   time.Time
}

// notePurge logs that removed text is gone once the last segment with it is deleted.
func (p *Places) notePurge(removedAt time.Time) {
	if removedAt.IsZero() {
		return
	}
	done := &p.sweep.purged
	done.segments++
	done.oldest = earlierTime(done.oldest, removedAt)
	if p.PendingRemoval().Segments > 0 {
		return
	}
	p.log.Info("text of removed repositories and branches deleted from disk", "segments", done.segments,
		"removed_at", done.oldest, "duration_ms", time.Since(done.oldest).Milliseconds())
	*done = purgeSummary{}
}
