package deadletters

import (
	"container/heap"
	"maps"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/schemas/event"
)

// MaxHeld bounds the letters that are known by more than their place.
const MaxHeld = 10_000

// maxHeld is MaxHeld but in tests.
var maxHeld = MaxHeld

// held is what is known of the open letters.
type held struct {
	mu struct {
		sync.Mutex
		// next is behind the last record taken in, by partition.
		next map[int32]event.Offset
		// open has every letter, by stage and partition.
		open map[string]map[int32]*offsets
		// letters are the newest; those of one origin are one.
		letters map[event.Position]*Letter
		origins map[origin]*Letter
		// ages holds letters, and some that were resolved since.
		ages ages
	}
}

func newHeld() *held {
	h := new(held)
	h.mu.open = map[string]map[int32]*offsets{StageWorker: {}, StageProjections: {}, StageOther: {}}
	h.mu.next = map[int32]event.Offset{}
	h.mu.letters, h.mu.origins = map[event.Position]*Letter{}, map[origin]*Letter{}
	return h
}

// ages is a heap, the oldest letter on top.
type ages []*Letter

func (a ages) Len() int           { return len(a) }
func (a ages) Less(i, j int) bool { return compareAge(a[i], a[j]) < 0 }
func (a ages) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *ages) Push(l any) { *a = append(*a, l.(*Letter)) }

// Pop implements heap.Interface.
func (a *ages) Pop() any {
	last := len(*a) - 1
	l := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return l
}

// take takes in a record of the topic, unless it was taken in before.
func (h *held) take(rec event.Record) {
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
	l := newLetter(rec)
	if o, ok := l.origin(); ok {
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

func (h *held) setLocked(stage string, partition int32) *offsets {
	set := h.mu.open[stage][partition]
	if set == nil {
		set = new(offsets)
		h.mu.open[stage][partition] = set
	}
	return set
}

// holdLocked keeps a letter, and leaves the oldest if there are too many.
func (h *held) holdLocked(l *Letter) {
	h.mu.letters[l.Position] = l
	if o, ok := l.origin(); ok {
		h.mu.origins[o] = l
	}
	heap.Push(&h.mu.ages, l)
	for len(h.mu.letters) > maxHeld {
		h.leaveLocked(heap.Pop(&h.mu.ages).(*Letter))
	}
	if len(h.mu.ages) > 2*maxHeld {
		h.mu.ages = slices.DeleteFunc(h.mu.ages, func(l *Letter) bool { return h.mu.letters[l.Position] != l })
		heap.Init(&h.mu.ages)
	}
}

func (h *held) leaveLocked(l *Letter) {
	if h.mu.letters[l.Position] != l {
		return
	}
	delete(h.mu.letters, l.Position)
	if o, ok := l.origin(); ok && h.mu.origins[o] == l {
		delete(h.mu.origins, o)
	}
}

// resolve closes a letter, if it is open.
func (h *held) resolve(at event.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resolveLocked(at)
}

func (h *held) resolveLocked(at event.Position) {
	for _, partitions := range h.mu.open {
		if set := partitions[at.Partition]; set != nil {
			set.remove(at.Offset)
		}
	}
	if l := h.mu.letters[at]; l != nil {
		h.leaveLocked(l)
	}
}

func (h *held) isOpen(at event.Position) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, partitions := range h.mu.open {
		if set := partitions[at.Partition]; set != nil && set.has(at.Offset) {
			return true
		}
	}
	return false
}

// counts returns how many letters of each stage are open.
func (h *held) counts() map[string]int {
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

// list returns copies of the letters held, the newest first.
func (h *held) list() []Letter {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Letter, 0, len(h.mu.letters))
	for _, l := range h.mu.letters {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Letter) int { return compareAge(&b, &a) })
	return out
}

// ofRecord returns the letter of a record that a stage gave up; nil if none is
// held.
func (h *held) ofRecord(at event.Position, stage string) *Letter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.mu.origins[origin{at, stage}]; l != nil {
		found := *l
		return &found
	}
	return nil
}

// at returns the letter at a position; nil if it is not held.
func (h *held) at(position event.Position) *Letter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.mu.letters[position]; l != nil {
		found := *l
		return &found
	}
	return nil
}

// short returns the partitions with open letters, if there is room for letters
// that were left before.
func (h *held) short() []int32 {
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

// refill takes in a record that was read before: a letter that is open is held
// again.
func (h *held) refill(rec event.Record) {
	if _, resolution := event.Resolved(rec); resolution {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := newLetter(rec)
	set := h.setLocked(stageOf(l.Stage), l.Position.Partition)
	if set.has(l.Position.Offset) && h.mu.letters[l.Position] == nil {
		h.holdLocked(l)
	}
}

// expire closes the open letters of a partition below an offset that were not
// among those seen: the log does not keep them any more.
func (h *held) expire(partition int32, below event.Offset, seen *offsets) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, partitions := range h.mu.open {
		set := partitions[partition]
		if set == nil {
			continue
		}
		var gone []event.Offset
		set.each(func(at event.Offset) {
			if at < below && !seen.has(at) {
				gone = append(gone, at)
			}
		})
		for _, at := range gone {
			h.resolveLocked(event.Position{Topic: event.TopicDeadLetters, Partition: partition, Offset: at})
		}
	}
}
