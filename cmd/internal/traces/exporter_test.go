package traces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quarrysearch/quarry/cmd/internal/traces/tracestest"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newExporter(o Options) *Exporter {
	o.Metrics = NewMetrics(prometheus.NewRegistry())
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return New(o)
}

// flush exports the spans in the queue, as the process does when it stops.
func (e *Exporter) flush(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Run(ctx); err != nil {
		t.Error(err)
	}
}

func (e *Exporter) dropped(reason string) int {
	return int(testutil.ToFloat64(e.o.Metrics.dropped.WithLabelValues(reason)))
}

func TestLastSpansAreExported(t *testing.T) {
	c := tracestest.Start(t)
	e := newExporter(Options{URL: c.URL, SampleRatio: 1, Headers: http.Header{"Authorization": {"Bearer t"}}})
	ctx, root := e.Tracer().StartRoot(t.Context(), "root")
	_, step := tracing.Start(ctx, "step")
	step.SetWord("long", strings.Repeat("x", 10*maxValueBytes))
	for i := range 3 * maxAttributes {
		step.SetInt(fmt.Sprint("key", i), 1)
	}
	step.End(failure.With(failure.Timeout, errors.New("fetch secret/repository")))
	for range 2 * maxBatch {
		_, s := tracing.Start(ctx, "many")
		s.End(nil)
	}
	root.End(nil)
	e.flush(t)
	if len(c.Spans()) != 2*maxBatch+2 || int(testutil.ToFloat64(e.o.Metrics.exported)) != len(c.Spans()) || c.Header().Get("Authorization") != "Bearer t" {
		t.Errorf("%d spans, header %v", len(c.Spans()), c.Header())
	}
	got := c.Spans()[0]
	if got.Name != "step" || got.Status.Code != pb.Status_STATUS_CODE_ERROR || len(got.Attributes) > maxAttributes ||
		len(got.Attributes[0].Value.GetStringValue()) != maxValueBytes || strings.Contains(got.String(), "secret") {
		t.Errorf("span %v", got)
	}
}

// TestBatchInFlightIsSentAtTheEnd stops the process while the collector has not answered.
func TestBatchInFlightIsSentAtTheEnd(t *testing.T) {
	c, arrived := tracestest.Start(t), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-arrived:
			c.ServeHTTP(w, r)
		default:
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
			close(arrived)
			<-r.Context().Done()
		}
	}))
	defer slow.Close()
	e := newExporter(Options{URL: slow.URL, SampleRatio: 1})
	for range maxBatch {
		_, s := e.Tracer().StartRoot(t.Context(), "root")
		s.End(nil)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	<-arrived
	stop()
	if err := <-ended; err != nil || len(c.Spans()) != maxBatch || e.dropped(droppedFailed) != 0 {
		t.Errorf("%d spans, %d dropped, %v", len(c.Spans()), e.dropped(droppedFailed), err)
	}
}

func TestSpansThatDoNotFitAreDropped(t *testing.T) {
	e := newExporter(Options{URL: "http://127.0.0.1:1/", SampleRatio: 1}) // nothing runs, so nothing may wait
	for range maxQueued + 7 {
		_, s := e.Tracer().StartRoot(t.Context(), "root")
		s.End(nil)
	}
	if n := e.dropped(droppedQueueFull); n != 7 {
		t.Errorf("%d spans dropped, want 7", n)
	}
}

func TestCollectorsThatFail(t *testing.T) {
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
	partial = append(protowire.AppendTag(partial, 2, protowire.BytesType), "\x07no room"...)
	partial = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	for name, test := range map[string]struct {
		status             int
		reply              []byte
		down               bool
		exported, failures int
		reason             string
		dropped            int
		log                string
	}{
		"down":          {down: true, failures: 1, reason: droppedFailed, dropped: 3, log: "refused"},
		"busy":          {status: http.StatusServiceUnavailable, failures: 1, reason: droppedFailed, dropped: 3, log: "503"},
		"refuses":       {status: http.StatusUnauthorized, reply: []byte("no token"), reason: droppedRejected, dropped: 3, log: "no token"},
		"redirects":     {status: http.StatusFound, reason: droppedRejected, dropped: 3, log: "302"},
		"rejects some":  {status: http.StatusOK, reply: partial, exported: 1, reason: droppedRejected, dropped: 2, log: "no room"},
		"damaged reply": {status: http.StatusOK, reply: partial[:5], exported: 3, reason: droppedRejected},
	} {
		t.Run(name, func(t *testing.T) {
			c := tracestest.Start(t)
			c.Answer(test.status, test.reply)
			if test.down {
				c.URL = "http://127.0.0.1:1"
			}
			var log strings.Builder
			e := newExporter(Options{URL: c.URL, SampleRatio: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 3 {
				_, s := e.Tracer().StartRoot(t.Context(), "root")
				s.End(nil)
			}
			e.flush(t)
			exported, failures := int(testutil.ToFloat64(e.o.Metrics.exported)), int(testutil.ToFloat64(e.o.Metrics.failures))
			if exported != test.exported || failures != test.failures || e.dropped(test.reason) != test.dropped {
				t.Errorf("%d exported, %d failures, %d dropped", exported, failures, e.dropped(test.reason))
			}
			if lines := strings.Count(log.String(), "\n"); !strings.Contains(log.String(), test.log) || lines != min(test.dropped, 1) {
				t.Errorf("log %q", &log)
			}
		})
	}
}

// TestFailuresAreLoggedOnce checks that a collector that is down leaves one line.
func TestFailuresAreLoggedOnce(t *testing.T) {
	c := tracestest.Start(t)
	var log strings.Builder
	e := newExporter(Options{URL: c.URL, SampleRatio: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusOK} {
		c.Answer(status, nil)
		_, s := e.Tracer().StartRoot(t.Context(), "root")
		s.End(nil)
		e.flush(t)
	}
	if strings.Count(log.String(), "traces are not exported") != 1 || strings.Count(log.String(), "exported again") != 1 {
		t.Errorf("log %q", &log)
	}
}

func TestSampling(t *testing.T) {
	const caller = "0af7651916cd43dd8448eb211c80319c"
	for name, test := range map[string]struct {
		ratio float64
		trust bool
		flags string
		want  int // spans
		same  bool
	}{
		"nothing is sampled":            {flags: "00"},
		"a stranger forces nothing":     {flags: "01"},
		"a stranger prevents nothing":   {ratio: 1, flags: "00", want: 1},
		"a stranger chooses no ID":      {ratio: 1, flags: "01", want: 1},
		"a trusted caller decides":      {trust: true, flags: "01", want: 1, same: true},
		"a trusted caller also refuses": {ratio: 1, trust: true, flags: "00"},
		"a damaged header is none":      {ratio: 1, trust: true, flags: "zz", want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := tracestest.Start(t)
			e := newExporter(Options{URL: c.URL, SampleRatio: test.ratio, TrustCallers: test.trust})
			r := httptest.NewRequest("BREW", "/pot?q=secret", nil)
			r.Header.Set(tracing.Header, "00-"+caller+"-b7ad6b7169203331-"+test.flags)
			ctx, span := e.Tracer().StartRequest(r)
			if sampled := tracing.Parent(ctx) != ""; sampled != (test.want > 0) {
				t.Errorf("the trace goes on: %t", sampled)
			}
			span.EndRequest(r.Method, "/pot", http.StatusTeapot)
			e.flush(t)
			if len(c.Spans()) != test.want {
				t.Fatalf("%d spans, want %d", len(c.Spans()), test.want)
			}
			for _, s := range c.Spans() {
				if s.Name != "_OTHER /pot" || (fmt.Sprintf("%x", s.TraceId) == caller) != test.same || strings.Contains(s.String(), "secret") {
					t.Errorf("span %v", s)
				}
			}
		})
	}
}

func TestBatchesJoinTraces(t *testing.T) {
	c := tracestest.Start(t)
	e := newExporter(Options{URL: c.URL, SampleRatio: 1})
	var parents, ids []string
	for _, name := range []string{"first", "second"} {
		ctx, span := e.Tracer().StartRoot(t.Context(), name)
		parents = append(parents, tracing.Parent(ctx), "", "damaged", tracing.Parent(ctx))
		ids = append(ids, span.TraceID())
		span.End(nil)
	}
	ctx, batch := e.Tracer().StartBatch(t.Context(), parents, "process")
	if got := tracing.TraceID(ctx); got != ids[0] {
		t.Errorf("the work is in trace %s, want %s", got, ids[0])
	}
	batch.End(nil)
	e.flush(t)
	spans := c.Spans()[2:]
	if len(spans) != 2 {
		t.Fatalf("%d spans of the batch, want one in each trace", len(spans))
	}
	for i, s := range spans {
		other := spans[1-i]
		if s.Name != "process" || len(s.Links) != 1 || string(s.Links[0].TraceId) != string(other.TraceId) || len(s.ParentSpanId) == 0 {
			t.Errorf("span %v", s)
		}
	}
}
