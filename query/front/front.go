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
	o        Options
	metrics  *metrics
	origins  *http.CrossOriginProtection
	hosts    map[string]bool // nil: any
	secure   bool            // the public URL is https
	pace     *pace.Table
	refusals *refusalThrottle
	streams  *pace.Streams
	// followers are the streams that may go on until the caller leaves.
	followers *pace.Streams
	limits    atomic.Pointer[Limits] // see SetLimits
}

// New returns a Front for o.
func New(o Options) (*Front, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	f := &Front{
		o:        o,
		hosts:    hostSet(o.Hosts),
		secure:   strings.HasPrefix(o.PublicURL, "https://"),
		pace:     pace.New(maxCallers),
		refusals: newRefusalThrottle(),
		streams:  pace.NewStreams(maxStreams, max(o.Limits.Streams, 0)),

		followers: pace.NewStreams(maxFollowers, max(o.Limits.Streams, 0)),
	}
	f.limits.Store(&f.o.Limits)
	if err := f.configureOrigins(); err != nil {
		return nil, fmt.Errorf("front: %w", err)
	}
	f.metrics = newMetrics(o.Registerer, f)
	return f, nil
}

// WithChecks puts around a handler what every request passes, from outside in:
// measuring, recovery, the checks of hosts and origins, bounds. Routes below it are
// made by HandleRoute and StreamRoute.
func (f *Front) WithChecks(next http.Handler) http.Handler {
	return f.withChecks(next, f.mayBeginSession)
}

// withChecks is WithChecks for requests that are from this origin alone if ownOrigin
// says so.
func (f *Front) withChecks(next http.Handler, ownOrigin func(*http.Request) bool) http.Handler {
	return f.withObservation(f.withRecovery(f.checkHost(f.withCORS(f.checkOrigin(f.limitBody(next), ownOrigin)))))
}
