package front

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/quarrysearch/quarry/query/front/internal/pace"
)

// Front holds the layers around the handlers of a process.
type Front struct {
	o       Options
	metrics *metrics
	origins *http.CrossOriginProtection
	hosts   hostSet // nil accepts any host
	// secure means that the public URL is https and has no path: other applications of a
	// shared host may need http.
	secure   bool
	pace     *pace.Table
	refusals *refusalThrottle
	streams  *pace.Streams
	// followers counts the streams that stay open until the caller leaves.
	followers *pace.Streams
	// waits counts the requests that wait for something, see EnterWait.
	waits *pace.Streams
	// limits and logsRequests are those of Options until Reconfigure.
	limits       atomic.Pointer[Limits]
	logsRequests atomic.Bool
}

// New returns a Front for o.
func New(o Options) (*Front, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	f := &Front{
		o:        o,
		hosts:    newHostSet(o.Hosts),
		secure:   strings.HasPrefix(o.PublicURL, "https://") && strings.Count(strings.TrimSuffix(o.PublicURL, "/"), "/") == 2,
		pace:     pace.New(maxCallers),
		refusals: newRefusalThrottle(),
		streams:  pace.NewStreams(maxStreams, max(o.Limits.Streams, 0)),

		followers: pace.NewStreams(maxFollowers, max(o.Limits.Streams, 0)),
		waits:     pace.NewStreams(MaxWaits, MaxCallerWaits),
	}
	f.limits.Store(&f.o.Limits)
	f.logsRequests.Store(o.LogsRequests)
	if err := f.configureOrigins(); err != nil {
		return nil, fmt.Errorf("front: %w", err)
	}
	f.metrics = newMetrics(o.Registerer, f)
	return f, nil
}

// WithChecks wraps a handler in the checks of every request. From the outside in, they
// are: metrics, panic recovery, checks of hosts and origins, bounds. HandleRoute and
// StreamRoute create the routes below it.
func (f *Front) WithChecks(next http.Handler) http.Handler {
	return f.withChecks(next, f.mayBeginSession)
}

// withChecks is WithChecks, except that requests for which ownOrigin returns true must
// come from this origin even if other origins are allowed.
func (f *Front) withChecks(next http.Handler, ownOrigin func(*http.Request) bool) http.Handler {
	return f.withObservation(f.withRecovery(f.checkHost(f.withCORS(f.checkOrigin(f.limitBody(next), ownOrigin)))))
}
