package postings

import "bytes"

// LongLines is the number of the list of the blocks without a line feed, which no trigram and no
// capital pair has. A line is in more than two blocks only if those between the first and the
// last have no line feed.
const LongLines = Trigram('A')<<16 | Trigram('A')<<8 | 1

// appendLongLines appends the number of LongLines to those of the lists of a block, if the block
// has no line feed.
func (x *extractor) appendLongLines(out []uint32, block []byte) []uint32 {
	if bytes.IndexByte(block, '\n') >= 0 {
		return out
	}
	id, _ := x.rare.markSeen(LongLines, x.block)
	return append(out, id)
}

// KeepNear removes the blocks from which a line cannot reach a block of other: it is neither the
// same nor a neighbor, and not all blocks between them are in long, which has the blocks without
// a line feed.
func (s *Set) KeepNear(other, long *Set) {
	last, first, end := -1, -1, 0 // of the previous block: its number, and the blocks that its lines may reach
	s.filter(func(b int) bool {
		from := b - 1
		for ; from >= 0 && long.Next(from) == from; from-- {
			if from < last {
				from = first
				break
			}
		}
		if end <= b {
			for end = b + 1; long.Next(end) == end; {
				end++
			}
		}
		last, first = b, from
		near := other.Next(max(from, 0))
		return near >= 0 && near <= end
	})
}
