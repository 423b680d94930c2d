// Package tracestest takes the spans of processes in tests, in place of a collector. A Collector
// understands OTLP 1.x over HTTP, in the binary encoding and with gzip, as package traces sends it.
package tracestest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector keeps the spans that it has accepted. It is safe for concurrent use.
type Collector struct {
	URL string
	mu  struct {
		sync.Mutex
		status int
		reply  []byte
		header http.Header
		spans  []Span
	}
}

// Span is a span with the service.instance.id of the process that it is of.
type Span struct {
	*pb.Span
	Instance string
}

// Start starts a collector, which ends with the test.
func Start(t testing.TB) *Collector {
	c := &Collector{}
	c.Answer(http.StatusOK, nil)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Answer sets the answer to the next requests. Spans are kept only with status 200.
func (c *Collector) Answer(status int, reply []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.status, c.mu.reply = status, reply
}

// Spans returns the spans that have arrived, in this order.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.mu.spans)
}

// Header returns the header of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.header
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := readSpans(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.header = r.Header
	if c.mu.status == http.StatusOK {
		for _, resource := range data.ResourceSpans {
			instance := ""
			for _, a := range resource.Resource.Attributes {
				if a.Key == "service.instance.id" {
					instance = a.Value.GetStringValue()
				}
			}
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					c.mu.spans = append(c.mu.spans, Span{s, instance})
				}
			}
		}
	}
	w.WriteHeader(c.mu.status)
	_, _ = w.Write(c.mu.reply)
}

func readSpans(r *http.Request) (*pb.TracesData, error) {
	if kind := r.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		return nil, fmt.Errorf("content type %q", kind)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	data := &pb.TracesData{}
	return data, proto.Unmarshal(body, data)
}
