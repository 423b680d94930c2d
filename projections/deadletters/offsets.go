package deadletters

import (
	"math/bits"

	"github.com/quarrysearch/quarry/schemas/event"
)

// offsetSet is a set of offsets of one partition: one bit for each record of the topic,
// starting at the first in the set, or 125 KB for a million.
type offsetSet struct {
	base  int64 // first offset of words, a multiple of 64
	words []uint64
	n     int
}

// add adds an offset and reports whether it is new.
func (o *offsetSet) add(at event.Offset) bool {
	if len(o.words) == 0 {
		o.base = int64(at) &^ 63
	}
	if int64(at) < o.base {
		grown := make([]uint64, (o.base-int64(at)&^63)/64, (o.base-int64(at)&^63)/64+int64(len(o.words)))
		o.words, o.base = append(grown, o.words...), int64(at)&^63
	}
	word, bit := (int64(at)-o.base)/64, uint64(1)<<(uint64(at)&63)
	for int64(len(o.words)) <= word {
		o.words = append(o.words, 0)
	}
	if o.words[word]&bit != 0 {
		return false
	}
	o.words[word] |= bit
	o.n++
	return true
}

func (o *offsetSet) hasOffset(at event.Offset) bool {
	word := (int64(at) - o.base) / 64
	return int64(at) >= o.base && word < int64(len(o.words)) && o.words[word]&(1<<(uint64(at)&63)) != 0
}

// removeOffset removes an offset and reports whether it was in the set.
func (o *offsetSet) removeOffset(at event.Offset) bool {
	if !o.hasOffset(at) {
		return false
	}
	o.words[(int64(at)-o.base)/64] &^= 1 << (uint64(at) & 63)
	if o.n--; o.n == 0 {
		o.words = nil
	}
	return true
}

// forEach calls f for every offset, in order.
func (o *offsetSet) forEach(f func(event.Offset)) {
	for i, w := range o.words {
		for ; w != 0; w &= w - 1 {
			f(event.Offset(o.base + int64(i)*64 + int64(bits.TrailingZeros64(w))))
		}
	}
}
