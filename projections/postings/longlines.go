package postings

// LongLines is the number of the list of the blocks without a line feed, which no trigram and no
// capital pair has. A line is in more than two blocks only if those between the first and the
// last have no line feed.
const LongLines = Trigram('A')<<16 | Trigram('A')<<8 | 1

// KeepNear removes the blocks from which a line cannot reach a block of other: it is neither the
// same nor a neighbor, and not all blocks between them are in long, which has the blocks without
// a line feed. All sets have the same bound.
func (s *Set) KeepNear(other, long *Set) {
	near := Set{dense: make([]uint64, (s.blocks+63)/64), blocks: s.blocks}
	add := func(from, to int) {
		for b := max(from, 0); b <= min(to, s.blocks-1); b++ {
			near.dense[b/64] |= 1 << (b % 64)
		}
	}
	for i, w := range other.dense {
		near.dense[i] |= w | w<<1 | w>>1
		if i > 0 {
			near.dense[i] |= other.dense[i-1] >> 63
			near.dense[i-1] |= w << 63
		}
	}
	for _, b := range other.sparse {
		add(int(b)-1, int(b)+1)
	}
	for first := long.Next(0); first >= 0; {
		end := first + 1
		for long.Next(end) == end {
			end++
		}
		if at := other.Next(max(first-1, 0)); at >= 0 && at <= end {
			add(first-1, end)
		}
		first = long.Next(end)
	}
	s.Intersect(near)
}
