package traces

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/quarrysearch/quarry/schemas/tracing"
)

// BenchmarkSearch creates the spans of a request with one search.
func BenchmarkSearch(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer server.Close()
	for name, o := range map[string]*Options{
		"off": nil, "ratio 0.01": {URL: server.URL, SampleRatio: 0.01}, "ratio 1": {URL: server.URL, SampleRatio: 1},
	} {
		b.Run(name, func(b *testing.B) {
			var e *Exporter
			if o != nil {
				e = newExporter(*o)
			}
			r := httptest.NewRequest(http.MethodPost, "/api/search", nil)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ctx, request := e.Tracer().StartRequest(r)
				request.SetWord("quarry.request_id", "id")
				ctx, assist := tracing.Start(ctx, "assist")
				ctx, search := tracing.Start(ctx, "search")
				for _, name := range []string{"plan", "visit segments"} {
					_, step := tracing.Start(ctx, name)
					step.SetInt("quarry.segments", 7)
					step.End(nil)
				}
				search.SetInt("quarry.matches", 1)
				search.End(nil)
				assist.End(nil)
				request.EndRequest(r.Method, "/api/search", http.StatusOK)
				if e != nil && len(e.queue) >= maxBatch {
					e.flush(b)
				}
			}
		})
	}
}
