package deadletters

import (
	"container/heap"
	"maps"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// MaxHeld bounds the dead letters whose details are held in memory.
const MaxHeld = 10_000

// maxHeld is MaxHeld; tests change it.
var maxHeld = MaxHeld

// openLetters tracks the open dead letters.
type openLetters struct {
	mu struct {
		sync.Mutex
		// next is the offset after the last read record, by partition.
		next map[int32]event.Offset
		// open contains every open dead letter, by stage and partition.
		open map[string]map[int32]*offsetSet
		// letters holds the newest dead letters, one per origin.
		letters map[event.Position]*ledger.DeadLetter
		origins map[origin]*ledger.DeadLetter
		// ages contains letters, and some that were resolved since then.
		ages ages
	}
}

func newOpenLetters() *openLetters {
	h := new(openLetters)
	h.mu.open = map[string]map[int32]*offsetSet{StageWorker: {}, StageProjections: {}, StageOther: {}}
	h.mu.next = map[int32]event.Offset{}
	h.mu.letters, h.mu.origins = map[event.Position]*ledger.DeadLetter{}, map[origin]*ledger.DeadLetter{}
	return h
}

// ages is a heap with the oldest dead letter on top.
type ages []*ledger.DeadLetter

func (a ages) Len() int           { return len(a) }
func (a ages) Less(i, j int) bool { return compareAge(a[i], a[j]) < 0 }
func (a ages) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *ages) Push(l any) { *a = append(*a, l.(*ledger.DeadLetter)) }

// Pop implements heap.Interface.
func (a *ages) Pop() any {
	last := len(*a) - 1
	l := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return l
}

// takeRecord processes a record of the topic, unless it was processed before.
func (h *openLetters) takeRecord(rec event.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if rec.Position.Offset < h.mu.next[rec.Position.Partition] {
		return
	}
	h.mu.next[rec.Position.Partition] = rec.Position.Offset + 1
	if of, ok := event.Resolved(rec); ok {
		h.resolveLocked(of)
		return
	}
	l := newDeadLetter(rec)
	if o, ok := originOf(l); ok {
		if first := h.mu.origins[o]; first != nil {
			first.Copies++
			return
		}
	}
	set := h.setLocked(stageOf(l.Stage), l.Position.Partition)
	if set.add(l.Position.Offset) {
		h.holdLocked(l)
	}
}

func (h *openLetters) setLocked(stage string, partition int32) *offsetSet {
	set := h.mu.open[stage][partition]
	if set == nil {
		set = new(offsetSet)
		h.mu.open[stage][partition] = set
	}
	return set
}

// holdLocked holds a dead letter, and drops the oldest one if there are too many. h.mu
// must be held.
func (h *openLetters) holdLocked(l *ledger.DeadLetter) {
	h.mu.letters[l.Position] = l
	if o, ok := originOf(l); ok {
		h.mu.origins[o] = l
	}
	heap.Push(&h.mu.ages, l)
	for len(h.mu.letters) > maxHeld {
		h.dropLocked(heap.Pop(&h.mu.ages).(*ledger.DeadLetter))
	}
	if len(h.mu.ages) > 2*maxHeld {
		h.mu.ages = slices.DeleteFunc(h.mu.ages, func(l *ledger.DeadLetter) bool { return h.mu.letters[l.Position] != l })
		heap.Init(&h.mu.ages)
	}
}

func (h *openLetters) dropLocked(l *ledger.DeadLetter) {
	if h.mu.letters[l.Position] != l {
		return
	}
	delete(h.mu.letters, l.Position)
	if o, ok := originOf(l); ok && h.mu.origins[o] == l {
		delete(h.mu.origins, o)
	}
}

// resolveLetter closes a dead letter if it is open.
func (h *openLetters) resolveLetter(at event.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resolveLocked(at)
}

func (h *openLetters) resolveLocked(at event.Position) {
	for _, partitions := range h.mu.open {
		if set := partitions[at.Partition]; set != nil {
			set.removeOffset(at.Offset)
		}
	}
	if l := h.mu.letters[at]; l != nil {
		h.dropLocked(l)
	}
}

func (h *openLetters) isOpen(at event.Position) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, partitions := range h.mu.open {
		if set := partitions[at.Partition]; set != nil && set.hasOffset(at.Offset) {
			return true
		}
	}
	return false
}

// openCounts returns the number of open dead letters of each stage.
func (h *openLetters) openCounts() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]int{}
	for stage, partitions := range h.mu.open {
		out[stage] = 0
		for _, set := range partitions {
			out[stage] += set.n
		}
	}
	return out
}

// listLetters returns copies of the held dead letters, newest first.
func (h *openLetters) listLetters() []ledger.DeadLetter {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]ledger.DeadLetter, 0, len(h.mu.letters))
	for _, l := range h.mu.letters {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b ledger.DeadLetter) int { return compareAge(&b, &a) })
	return out
}

// letterOfRecord returns the dead letter of a record that a stage gave up, or nil if none
// is held.
func (h *openLetters) letterOfRecord(at event.Position, stage string) *ledger.DeadLetter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.mu.origins[origin{at, stage}]; l != nil {
		found := *l
		return &found
	}
	return nil
}

// letterAt returns the dead letter at a position, or nil if it is not held.
func (h *openLetters) letterAt(position event.Position) *ledger.DeadLetter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.mu.letters[position]; l != nil {
		found := *l
		return &found
	}
	return nil
}

// partitionsToRefill returns the partitions with open dead letters if there is room for
// dropped ones.
func (h *openLetters) partitionsToRefill() []int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	open, where := 0, map[int32]bool{}
	for _, partitions := range h.mu.open {
		for partition, set := range partitions {
			if open += set.n; set.n > 0 {
				where[partition] = true
			}
		}
	}
	if open == len(h.mu.letters) || len(h.mu.letters) > maxHeld/2 {
		return nil
	}
	return slices.Sorted(maps.Keys(where))
}

// refillRecord processes a record that was read before: it holds the dead letter again if
// it is open.
func (h *openLetters) refillRecord(rec event.Record) {
	if _, resolution := event.Resolved(rec); resolution {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := newDeadLetter(rec)
	set := h.setLocked(stageOf(l.Stage), l.Position.Partition)
	if set.hasOffset(l.Position.Offset) && h.mu.letters[l.Position] == nil {
		h.holdLocked(l)
	}
}

// expireLetters closes the open dead letters of a partition below an offset that are not
// in seen, because the log no longer contains them.
func (h *openLetters) expireLetters(partition int32, below event.Offset, seen *offsetSet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, partitions := range h.mu.open {
		set := partitions[partition]
		if set == nil {
			continue
		}
		var gone []event.Offset
		set.forEach(func(at event.Offset) {
			if at < below && !seen.hasOffset(at) {
				gone = append(gone, at)
			}
		})
		for _, at := range gone {
			h.resolveLocked(event.Position{Topic: event.TopicDeadLetters, Partition: partition, Offset: at})
		}
	}
}
