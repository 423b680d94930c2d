package rpc

import (
	"context"
	"fmt"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkSearch searches a shard that has repositories and no files, through a session for each
// search, on new connections and on kept ones.
func BenchmarkSearch(b *testing.B) {
	for _, repositories := range []int{1, 5000} {
		view := namesView{repos: make([]*corpus.Repository, repositories)}
		for i := range view.repos {
			name := fmt.Sprintf("host.example.com/organization/repository-%05d", i)
			view.repos[i] = &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: name, CloneURL: "https://" + name + ".git"}}
		}
		for name, pool := range map[string]*Pool{"new": nil, "kept": {}} {
			b.Run(fmt.Sprintf("%s/%d", name, repositories), func(b *testing.B) {
				h := startShard(b, 0, func(o *ServerOptions) {
					searcher := search.New(search.Options{})
					o.OpenSession = func(context.Context, []byte) (search.Shard, error) {
						return searcher.NewShardSession(view, []int32{0}, nil), nil
					}
				})
				view.released = &h.released
				h.Pool = pool
				front, q := search.New(search.Options{}), parse(b, "word")
				b.ReportAllocs()
				for b.Loop() {
					v, err := search.NewShards(b.Context(), []search.Shard{h.NewSession([]byte("ann"))})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := front.Search(b.Context(), v, search.Request{Query: q, Matches: 10}); err != nil {
						b.Fatal(err)
					}
					v.Release()
				}
				if pool != nil {
					pool.CloseKept()
				}
			})
		}
	}
}
