package postings

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKeepNearKeepsEveryLine compares the blocks near another literal with the lines of a text:
// a block is kept if one of its lines is in a block of the other literal, and otherwise only if
// a neighbor or a long line explains it.
func TestKeepNearKeepsEveryLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	dropped := 0
	for round := range 200 {
		blocks := 40 + rng.IntN(200)
		text := bytes.Repeat([]byte{'x'}, blocks*BlockBytes)
		for at := 0; at < len(text); at += 1 + rng.IntN([]int{BlockBytes / 2, BlockBytes * 2, BlockBytes * 9}[round%3]) {
			text[at] = '\n'
		}
		long := indexText(NewAccumulator(), text)[LongLines]
		lines := func(b int) (from, to int) { // the blocks of the lines that are in a block
			start := bytes.LastIndexByte(text[:b*BlockBytes], '\n') + 1
			end := len(text)
			if n := bytes.IndexByte(text[(b+1)*BlockBytes:], '\n'); n >= 0 {
				end = (b+1)*BlockBytes + n
			}
			return start / BlockBytes, min(end, len(text)-1) / BlockBytes
		}
		for range 20 {
			have, other := ascendingBlocks(rng, 1+rng.IntN(blocks), blocks), ascendingBlocks(rng, 1+rng.IntN(10), blocks)
			list, _ := ParseList(AppendList(nil, have))
			kept, err := SetOf(&list, blocks)
			if err != nil {
				t.Fatal(err)
			}
			a, b := SetOfBlocks(other, blocks), SetOfBlocks(long, blocks)
			kept.KeepNear(&a, &b)
			for _, h := range have {
				from, to := lines(int(h))
				reaches := slices.ContainsFunc(other, func(o uint32) bool { return int(o) >= from && int(o) <= to })
				explained := slices.ContainsFunc(other, func(o uint32) bool { return int(o) >= min(from, int(h)-1) && int(o) <= max(to, int(h)+1) })
				is := kept.Next(int(h)) == int(h)
				if reaches && !is || is && !explained {
					t.Fatalf("round %d: block %d, lines in %d to %d, other %v, long %v: kept %t", round, h, from, to, other, long, is)
				}
				if !is {
					dropped++
				}
			}
		}
	}
	if dropped == 0 {
		t.Fatal("every block was kept")
	}
}
