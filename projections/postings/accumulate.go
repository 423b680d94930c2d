package postings

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Chunks of a posting list under construction. The first holds firstChunk blocks, each
// further one twice as many, up to maxChunk. Two words after each chunk link the next
// one.
const (
	firstChunk = 2
	maxChunk   = 512
	slabWords  = 1 << 20
)

// Accumulator collects the postings of one segment while its text is added. It needs two
// bytes for each posting, the unused part of the last chunk of each list, and 4 MiB.
type Accumulator struct {
	extract *extractor
	lists   []listState // by dense number
	slabs   [][]uint16
	used    uint32 // words of the last slab in use
	blocks  uint32
}

type listState struct {
	count      uint32
	head       uint32 // first word of the first chunk
	next, room uint32 // position of the next block, and room left in the chunk
}

// NewAccumulator returns an empty Accumulator.
func NewAccumulator() *Accumulator {
	return &Accumulator{extract: newExtractor(), lists: make([]listState, firstRare)}
}

// Reset empties the Accumulator and keeps its memory.
func (a *Accumulator) Reset() {
	a.extract.reset()
	clear(a.lists)
	a.used, a.blocks = 0, 0
	if len(a.slabs) > 0 {
		a.slabs = a.slabs[:1]
	}
}

// Blocks returns the number of blocks added.
func (a *Accumulator) Blocks() int { return int(a.blocks) }

// AddBlock adds the next block: the first block bytes of window. The rest of window is
// the text after the block, up to WindowBytes in total. It returns the level of the longest run
// of each class that starts in the block. It panics beyond MaxBlocks, so the caller must bound the
// text.
func (a *Accumulator) AddBlock(window []byte, block int) (runs [RunClasses]byte) {
	if a.blocks == MaxBlocks {
		panic(fmt.Sprintf("postings: more than %d blocks", MaxBlocks))
	}
	number := uint16(a.blocks)
	for _, id := range a.extract.next(window, block) {
		if int(id) >= len(a.lists) {
			a.lists = append(a.lists, make([]listState, a.extract.denseLimit()-len(a.lists))...)
		}
		l := &a.lists[id]
		if l.room == 0 {
			a.addChunk(l)
		}
		a.slabs[l.next/slabWords][l.next%slabWords] = number
		l.next++
		l.room--
		l.count++
	}
	a.blocks++
	return a.extract.classes.longestRuns(block)
}

// chunkAfter returns the size of the chunk that follows count blocks.
func chunkAfter(count uint32) uint32 { return min(max(firstChunk, count), maxChunk) }

// addChunk adds another chunk to l and links it.
func (a *Accumulator) addChunk(l *listState) {
	size := chunkAfter(l.count)
	at := a.allocWords(size + 2)
	if l.count == 0 {
		l.head = at
	} else {
		link := a.slabs[l.next/slabWords][l.next%slabWords:]
		link[0], link[1] = uint16(at), uint16(at>>16)
	}
	l.next, l.room = at, size
}

func (a *Accumulator) allocWords(words uint32) uint32 {
	if len(a.slabs) == 0 || a.used+words > slabWords {
		if n := len(a.slabs); n < cap(a.slabs) && a.slabs[:n+1][n] != nil {
			a.slabs = a.slabs[:n+1]
		} else {
			a.slabs = append(a.slabs, make([]uint16, slabWords))
		}
		a.used = 0
	}
	at := uint32(len(a.slabs)-1)*slabWords + a.used
	a.used += words
	return at
}

// Lists yields the trigrams in ascending order, each with its blocks in
// ascending order. The slice is valid until the next step.
func (a *Accumulator) Lists() iter.Seq2[Trigram, []uint32] {
	return func(yield func(Trigram, []uint32) bool) {
		var blocks []uint32
		for _, e := range a.sortedTrigrams() {
			blocks = a.collectBlocks(blocks[:0], &a.lists[e.id])
			if !yield(e.trigram, blocks) {
				return
			}
		}
	}
}

type trigramID struct {
	trigram Trigram
	id      uint32
}

func (a *Accumulator) sortedTrigrams() []trigramID {
	var ids []trigramID
	for id := range a.lists {
		if a.lists[id].count > 0 {
			ids = append(ids, trigramID{a.extract.trigramOf(uint32(id)), uint32(id)})
		}
	}
	slices.SortFunc(ids, func(x, y trigramID) int { return cmp.Compare(x.trigram, y.trigram) })
	return ids
}

func (a *Accumulator) collectBlocks(dst []uint32, l *listState) []uint32 {
	at, size, left := l.head, uint32(firstChunk), l.count
	for left > 0 {
		chunk := a.slabs[at/slabWords][at%slabWords:]
		n := min(size, left)
		for _, b := range chunk[:n] {
			dst = append(dst, uint32(b))
		}
		left -= n
		if left > 0 {
			at = uint32(chunk[size]) | uint32(chunk[size+1])<<16
			size = chunkAfter(uint32(len(dst)))
		}
	}
	return dst
}
