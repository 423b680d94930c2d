package rpc

import (
	"testing"

	"github.com/quarrysearch/quarry/query/search"
)

// BenchmarkSearch searches a shard that has a repository and no files, through a session for each search.
func BenchmarkSearch(b *testing.B) {
	h := startShard(b, 0)
	h.Pool = &Pool{}
	defer h.Pool.Close()
	front, q := search.New(search.Options{}), parse(b, "word")
	b.ReportAllocs()
	for b.Loop() {
		view, err := search.NewShards(b.Context(), []search.Shard{h.NewSession([]byte("ann"))})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := front.Search(b.Context(), view, search.Request{Query: q, Matches: 10}); err != nil {
			b.Fatal(err)
		}
		view.Release()
	}
}
