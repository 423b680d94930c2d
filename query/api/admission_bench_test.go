package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/front"
)

// BenchmarkAdmission measures the work before and after a handler, for the two extremes:
// an open route, and one that authenticates, limits and audits. The handlers do almost
// nothing.
func BenchmarkAdmission(b *testing.B) {
	w := newWorld()
	w.repositories = nil
	o := w.serverOptions()
	o.Limits = front.Limits{PerSecond: 1_000_000, Burst: 1_000_000}
	s, err := api.New(o)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, path, credential string }{{"open", "/api/health", ""}, {"key", "/api/repos", "searcher"}} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			if c.credential != "" {
				r.Header.Set("Authorization", "Bearer "+c.credential)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.ServeHTTP(httptest.NewRecorder(), r)
				w.audit.records = w.audit.records[:0]
			}
		})
	}
}
