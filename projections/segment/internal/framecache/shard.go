package framecache

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// maxHits bounds the rounds for which a frame stays without being requested.
const maxHits = 3

// freshShare determines the maximum share of the slots for new frames, 1/freshShare. With
// a tenth, as in the paper, a repeated query that reads more than that had no hits until
// its third run.
const freshShare = 2

// maxRounds bounds the search for a free slot: hits are used up after maxHits rounds, and
// after that only holds occupy slots.
const maxRounds = maxHits + 1

// slot has room for a frame. key, size and hits are guarded by the shard's lock. size may
// also be read without it while the slot is held, because it does not change then.
type slot struct {
	key   Key // 0 until it is published
	size  int32
	holds atomic.Int32 // increases only under the lock
	hits  uint8
}

// shard is a part of the cache with its own lock.
type shard struct {
	memory     []byte
	frameBytes int
	slots      []slot
	poison     bool

	mu struct {
		sync.Mutex
		index       map[Key]uint32
		used        int   // slots that were ever used
		fresh, kept queue // of slots in use
		// ghosts holds keys that were evicted from fresh, each until another overwrites
		// it.
		ghosts                  []Key
		hits, misses, evictions uint64
	}
}

func (s *shard) init(memory []byte, frameBytes int, poison bool) {
	n := len(memory) / frameBytes
	s.memory, s.frameBytes, s.poison = memory, frameBytes, poison
	s.slots = make([]slot, n)
	s.mu.index = make(map[Key]uint32, n)
	s.mu.fresh, s.mu.kept = newQueue(n), newQueue(n)
	s.mu.ghosts = make([]Key, 1<<bits.Len(uint(n)))
}

func (s *shard) ghostSlot(k Key) *Key { return &s.mu.ghosts[k.spreadBits()%uint64(len(s.mu.ghosts))] }

func (s *shard) pinFrame(k Key) (Hold, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.mu.index[k]
	if !ok {
		s.mu.misses++
		return Hold{}, false
	}
	s.mu.hits++
	t := &s.slots[i]
	t.hits = min(t.hits+1, maxHits)
	t.holds.Add(1)
	return Hold{s, i}, true
}

func (s *shard) reserveSlot(k Key, size int) (Hold, bool) {
	i, ok := s.takeSlot(k, size)
	if !ok {
		return Hold{}, false
	}
	h := Hold{s, i}
	if s.poison {
		b := h.Bytes()
		b = b[:cap(b)]
		for i := range b {
			b[i] = 0xdb
		}
	}
	return h, true
}

// takeSlot finds a slot for a frame, holds it and adds it to its queue.
func (s *shard) takeSlot(k Key, size int) (uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.vacateLocked()
	if !ok {
		return 0, false
	}
	t := &s.slots[i]
	t.key, t.size, t.hits = 0, int32(size), 0
	t.holds.Add(1)
	if g := s.ghostSlot(k); *g == k {
		*g = 0
		s.mu.kept.push(i)
	} else {
		s.mu.fresh.push(i)
	}
	return i, true
}

// vacateLocked removes a slot without holders from its queue.
func (s *shard) vacateLocked() (uint32, bool) {
	if s.mu.used < len(s.slots) {
		s.mu.used++
		return uint32(s.mu.used - 1), true
	}
	for range maxRounds * len(s.slots) {
		fresh := s.mu.kept.n == 0 || s.mu.fresh.n > len(s.slots)/freshShare
		from := &s.mu.kept
		if fresh {
			from = &s.mu.fresh
		}
		i := from.pop()
		t := &s.slots[i]
		switch {
		case t.holds.Load() > 0:
			from.push(i)
		case t.hits > 0 && fresh:
			t.hits = 0
			s.mu.kept.push(i)
		case t.hits > 0:
			t.hits--
			s.mu.kept.push(i)
		default:
			s.forgetLocked(t.key, fresh)
			return i, true
		}
	}
	return 0, false
}

// forgetLocked removes the frame of a key from the index, if there is one.
func (s *shard) forgetLocked(k Key, fresh bool) {
	if k == 0 {
		return
	}
	delete(s.mu.index, k)
	s.mu.evictions++
	if fresh {
		*s.ghostSlot(k) = k
	}
}

func (s *shard) publishFrame(k Key, i uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.mu.index[k]; ok {
		return
	}
	s.mu.index[k] = i
	s.slots[i].key = k
}

func (s *shard) addTo(t *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Hits, t.Misses, t.Evictions = t.Hits+s.mu.hits, t.Misses+s.mu.misses, t.Evictions+s.mu.evictions
	t.Bytes += s.mu.used * s.frameBytes
	t.Held += s.heldLocked()
}

func (s *shard) heldLocked() (n int) {
	for i := range s.slots[:s.mu.used] {
		n += int(s.slots[i].holds.Load())
	}
	return n
}

// emptyLocked removes all slots, both used and free ones.
func (s *shard) emptyLocked() {
	clear(s.mu.index)
	s.slots, s.memory, s.mu.used = nil, nil, 0
}
