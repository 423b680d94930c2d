package places

import (
	"fmt"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
)

// TestRevisionCacheIsBounded fills the cache of resolved refs with more places than it may hold.
func TestRevisionCacheIsBounded(t *testing.T) {
	const bound = 1 << 20
	c := newRevisionCache(bound)
	columns := &segment.Places{Doc: make([]segment.DocID, 10_000), Repo: make([]uint32, 10_000), Paths: make([]byte, 40_000)}
	held := func() (n int) {
		for i := range 100 {
			if _, ok := c.get(fmt.Sprint("ref ", i)); ok {
				n++
			}
		}
		return n
	}
	for i := range 100 {
		c.put(fmt.Sprint("ref ", i), []Segment{{Places: columns}, {Places: columns}})
		if _, ok := c.get(fmt.Sprint("ref ", i)); !ok {
			t.Fatalf("ref %d, the newest, is not in the cache", i)
		}
		if bytes := held() * 2 * columns.SizeBytes(); bytes > bound {
			t.Fatalf("after %d refs, the cache holds %d bytes, more than its %d", i+1, bytes, bound)
		}
	}
	if n := held(); n < bound/(2*columns.SizeBytes())-1 {
		t.Errorf("the cache holds %d refs, and has room for %d", n, bound/(2*columns.SizeBytes()))
	}
}
