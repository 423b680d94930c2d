package front

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front/internal/pace"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/network"
)

// Limits bound the request rate and the concurrent streams of one caller. Zero values
// mean the defaults; negative values mean no limit.
type Limits struct {
	// PerSecond and Burst apply to an API key, a token or a signed-in user.
	PerSecond, Burst int
	// AnonymousPerSecond and AnonymousBurst limit each address, for requests
	// without a credential or with an invalid one.
	AnonymousPerSecond, AnonymousBurst int
	// Streams bounds the concurrent streams of one caller; streams of events are counted
	// separately.
	Streams int
}

// Defaults of Limits. They exceed what a person typing or an agent needs.
const (
	DefaultPerSecond          = 50
	DefaultBurst              = 200
	DefaultAnonymousPerSecond = 20
	DefaultAnonymousBurst     = 100
	DefaultStreams            = 32
)

const (
	// maxCallers bounds the callers whose rates are tracked, at about 200 bytes each.
	maxCallers = 65536
	// costRequest and costBadCredential are charged against a rate limit.
	costRequest       = 1
	costBadCredential = 5
)

// Bounds of EnterWait.
const (
	// MaxWaits bounds the requests that wait at the same time.
	MaxWaits = 256
	// MaxCallerWaits bounds those of one caller, so that others can wait too. It also applies
	// to the operator, whose programs share one credential.
	MaxCallerWaits = MaxWaits / 4
)

func (l *Limits) ensureDefaults() {
	for _, d := range []struct {
		value *int
		def   int
	}{
		{&l.PerSecond, DefaultPerSecond}, {&l.Burst, DefaultBurst},
		{&l.AnonymousPerSecond, DefaultAnonymousPerSecond}, {&l.AnonymousBurst, DefaultAnonymousBurst},
		{&l.Streams, DefaultStreams},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
	}
}

// Reconfigure replaces Options.Limits and LogsRequests for future requests.
func (f *Front) Reconfigure(l Limits, logsRequests bool) {
	f.logsRequests.Store(logsRequests)
	l.ensureDefaults()
	f.streams.SetEach(max(l.Streams, 0))
	f.followers.SetEach(max(l.Streams, 0))
	f.limits.Store(&l)
}

// rateLimitOf returns the key under which a request is counted, and its limit.
func (f *Front) rateLimitOf(x *Exchange) (key string, l pace.Limit) {
	a, limits := &x.principal.Actor, f.limits.Load()
	switch {
	case isOperator(x.principal):
		return "operator", pace.Limit{}
	case x.principal.Anonymous():
		return "address " + network.ClientNetwork(x.address), pace.Limit{PerSecond: limits.AnonymousPerSecond, Burst: limits.AnonymousBurst}
	case a.Kind == account.ActorUser || a.Credential == "":
		key = "user " + string(a.User)
	default:
		key = string(a.Kind) + " " + a.Credential
	}
	return key, pace.Limit{PerSecond: limits.PerSecond, Burst: limits.Burst}
}

// isOperator reports whether p is the operator. The operator is not limited: it can read
// the data directory and could just as well stop the server.
func isOperator(p *auth.Principal) bool { return p.Actor.Kind == account.ActorOperator }

// chargeLimit charges the cost of a request to its caller's rate limit.
func (f *Front) chargeLimit(x *Exchange, rt *Route, cost int) error {
	if !rt.isRateLimited() {
		return nil
	}
	key, limit := f.rateLimitOf(x)
	if limit.Unlimited() {
		return nil
	}
	d := f.pace.Take(key, limit, cost, f.o.Now())
	x.pace = &paceState{limit, d}
	if d.Allowed {
		return nil
	}
	x.refusal = audit.RateLimited
	f.metrics.refusals.WithLabelValues(refusalRate).Inc()
	return &RateError{Wait: d.Wait, reason: fmt.Sprintf("at most %d requests per second, after a burst of %d", limit.PerSecond, limit.Burst)}
}

// paceState is the state of a caller's rate limit.
type paceState struct {
	limit pace.Limit
	pace.Decision
}

// setHeaders reports the rate limit to the client in the format of the IETF draft.
func (p *paceState) setHeaders(h http.Header) {
	if p == nil {
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(p.limit.Burst))
	h.Set("RateLimit-Remaining", strconv.Itoa(max(p.Remaining, 0)))
	h.Set("RateLimit-Reset", strconv.Itoa(wholeSeconds(p.Reset)))
	h.Set("RateLimit-Policy", fmt.Sprintf("%d;w=%d", p.limit.Burst, max(1, p.limit.Burst/max(p.limit.PerSecond, 1))))
}

// wholeSeconds rounds up so that a caller who waits that long has waited long enough.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// enterStream counts a stream.
func (f *Front) enterStream(rt *Route, x *Exchange) (leave func(), err error) {
	key, _ := f.rateLimitOf(x)
	streams := f.streams
	if rt.Follows {
		streams = f.followers
	}
	leave, full := streams.Enter(key, isOperator(x.principal) || f.limits.Load().Streams < 0)
	switch full {
	case pace.FullOfAll:
		return nil, ErrTooManyStreams
	case pace.FullOfCaller:
		x.refusal = audit.RateLimited
		f.metrics.refusals.WithLabelValues(refusalStreams).Inc()
		return nil, &RateError{Wait: time.Second, reason: fmt.Sprintf("at most %d concurrent streams", f.limits.Load().Streams)}
	}
	return leave, nil
}

// ErrTooManyWaits reports that the process has reached MaxWaits.
var ErrTooManyWaits = errors.New("too many requests wait")

// EnterWait counts a request that waits, for example for a position of the log. The caller must
// call leave when the wait ends. The error is a RateError if the caller has MaxCallerWaits, and
// ErrTooManyWaits if the process has MaxWaits.
func (f *Front) EnterWait(x *Exchange) (leave func(), err error) {
	key, _ := f.rateLimitOf(x)
	leave, full := f.waits.Enter(key, false)
	switch full {
	case pace.FullOfAll:
		return nil, fmt.Errorf("%w: at most %d", ErrTooManyWaits, MaxWaits)
	case pace.FullOfCaller:
		x.refusal = audit.RateLimited
		return nil, &RateError{Wait: time.Second, reason: fmt.Sprintf("at most %d of one caller wait at the same time", MaxCallerWaits)}
	}
	return leave, nil
}
