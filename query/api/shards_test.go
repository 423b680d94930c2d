package api_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/api"
)

// TestEveryRouteHasAWay checks that each route has a way in an installation with shards, that
// none is left over, and which parts answer it.
func TestEveryRouteHasAWay(t *testing.T) {
	ways := api.ShardWays()
	for _, part := range []api.Part{api.PartAll, api.PartFront, api.PartShard} {
		o := newWorld().serverOptions()
		o.Part = part
		s := newServer(t, o)
		for _, r := range s.Access() {
			name := r.Method + " " + r.Path
			way, known := ways[name]
			if !known {
				t.Errorf("%s has no way: decide in shards.go and docs/sharding.md", name)
			}
			wanted := part == api.PartAll || way == "local" || part == api.PartFront && way != "none" && way != "node" || part == api.PartShard && (way == "node" || way == "nodes")
			err := part.CheckPart(name)
			if (err == nil) != wanted || err != nil && !strings.HasPrefix(err.Error(), name+": not possible in this process: it is a ") {
				t.Errorf("part %d, way %q: %v", part, way, err)
			}
			if part == api.PartShard {
				delete(ways, name)
			}
		}
		refused := map[api.Part]string{api.PartFront: "POST /api/replays/rollback", api.PartShard: "GET /api/symbols"}[part]
		for request, status := range map[string]int{"GET /api/version": http.StatusOK, refused: http.StatusNotImplemented} {
			method, path, _ := strings.Cut(request, " ")
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequest(method, cmp.Or(path, "/"), nil))
			if got := rec.Code; request != "" && got != status {
				t.Errorf("part %d: %s: status %d, want %d", part, request, got, status)
			}
		}
	}
	for name := range ways {
		t.Errorf("there is no route %s", name)
	}
}
