package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

const (
	// probesOfBalancer is the number of probes that were answered as ready from which the
	// prober is a load balancer: whatever waits for the start of a server stops at the
	// first.
	probesOfBalancer = 2
	// recentProbe is the age up to which a probe counts: a load balancer probes more often.
	recentProbe = time.Minute
)

// errStopping is the reason of GET /readyz while the process stops.
var errStopping = errors.New("the server is stopping")

// drainer lets load balancers move their requests to other processes before the listener
// closes: from the signal on the process is not ready, but it still answers, and it closes
// each connection with its answer.
type drainer struct {
	delay  time.Duration
	logger *slog.Logger
	// stopping is set from the signal on. Every request reads it.
	stopping atomic.Bool
	mu       struct {
		sync.Mutex
		probes   int       // readiness checks that were answered with 200
		probedAt time.Time // the latest of them
	}
}

// closeConnections makes connections end with their answer once the process stops.
func (d *drainer) closeConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// countProbes counts the readiness checks that check answers with nil.
func (d *drainer) countProbes(check func(context.Context) error, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && check(r.Context()) == nil {
			d.mu.Lock()
			d.mu.probes++
			d.mu.probedAt = time.Now()
			d.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// run waits until ctx ends. The process is then no longer ready. If isTerminated reports
// that SIGTERM was the reason, it goes on for the delay if a load balancer probes it. A
// person who interrupts the process does not have to wait.
func (d *drainer) run(ctx context.Context, isTerminated func() bool) error {
	<-ctx.Done()
	d.stopping.Store(true)
	d.mu.Lock()
	probed := d.mu.probes >= probesOfBalancer && time.Since(d.mu.probedAt) < recentProbe
	d.mu.Unlock()
	if !probed || d.delay <= 0 || !isTerminated() {
		return nil
	}
	d.logger.Info("not ready any more; still answering", "delay", d.delay)
	return clock.Sleep(context.WithoutCancel(ctx), d.delay)
}
