package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/quarrysearch/quarry/projections/postings"
)

// directoryBuilder encodes partDirectory.
type directoryBuilder struct {
	encoded  []byte
	lists    int
	previous postings.Trigram
	end      uint32 // of the lists so far
}

// add adds the list of a trigram, which is above those added before.
func (d *directoryBuilder) add(t postings.Trigram, size int) {
	d.encoded = binary.AppendUvarint(d.encoded, uint64(t-d.previous))
	d.encoded = binary.AppendUvarint(d.encoded, uint64(size))
	d.lists, d.previous, d.end = d.lists+1, t, d.end+uint32(size)
}

// directory is the resident form of partDirectory: where the list of each trigram is in the
// postings. The trigrams ascend, and their high bits divide them into buckets, so that the low 16
// bits of each suffice.
type directory struct {
	low   []uint16
	start []uint32 // of the list of each trigram; one extra element at the end
	// bucket[b] is the first trigram t with t>>shift ≥ b, with one extra element at the end.
	bucket []uint32
	shift  uint // at most 16
}

// trigramBits is the size of a trigram, minBucketBits the least number of its bits that choose the
// bucket, and bucketShare the greatest average number of trigrams in a bucket: their low bits are
// half of a line of the processor's caches.
const (
	trigramBits   = 24
	minBucketBits = trigramBits - 16
	bucketShare   = 16
)

func decodeDirectory(b []byte, h *header) (*directory, error) {
	if h.lists > len(b) {
		return nil, fmt.Errorf("%w: %d lists in %d bytes", ErrCorrupt, h.lists, len(b))
	}
	size := min(max(bits.Len(uint(h.lists/bucketShare)), minBucketBits), trigramBits)
	d := &directory{
		low: make([]uint16, 0, h.lists), start: make([]uint32, 1, h.lists+1), bucket: make([]uint32, 1<<size+1), shift: uint(trigramBits - size),
	}
	in, t, at, bucket := decoder{b: b}, uint64(0), uint64(0), 0
	for i := range h.lists {
		t += in.readUvarint(uint64(postings.MaxTrigram))
		at += in.readUvarint(maxSpace)
		if in.failed || t > uint64(postings.MaxTrigram) || at > maxSpace {
			return nil, fmt.Errorf("%w: trigram directory", ErrCorrupt)
		}
		for ; bucket <= int(t>>d.shift); bucket++ {
			d.bucket[bucket] = uint32(i)
		}
		d.low = append(d.low, uint16(t&(1<<d.shift-1)))
		d.start = append(d.start, uint32(at))
	}
	for ; bucket < len(d.bucket); bucket++ {
		d.bucket[bucket] = uint32(h.lists)
	}
	if end := h.pageStart[len(h.pageStart)-1]; uint64(end) != at {
		return nil, fmt.Errorf("%w: postings of %d bytes, directory of %d", ErrCorrupt, end, at)
	}
	return d, nil
}

// findList returns the location of a trigram's list; size is 0 if there is none.
func (d *directory) findList(t postings.Trigram) (start, size uint32) {
	b, low := t>>d.shift, uint16(t&(1<<d.shift-1))
	lo, end := d.bucket[b], d.bucket[b+1]
	for hi := end; lo < hi; {
		if mid := (lo + hi) / 2; d.low[mid] < low {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == end || d.low[lo] != low {
		return 0, 0
	}
	return d.start[lo], d.start[lo+1] - d.start[lo]
}
