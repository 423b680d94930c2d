package api

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/api/internal/pace"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Limits bound how often, and how much at once, one caller may send requests. Zero
// values mean the defaults, negative ones no limit.
type Limits struct {
	// PerSecond and Burst are of an API key, a token, or a user who is signed in.
	PerSecond, Burst int
	// AnonymousPerSecond and AnonymousBurst limit each address, for requests
	// without a credential or with an invalid one.
	AnonymousPerSecond, AnonymousBurst int
	// Streams bounds the streams of one caller at once.
	Streams int
}

// Defaults of Limits: above what a person's typing and an agent's steps need.
const (
	DefaultPerSecond          = 50
	DefaultBurst              = 200
	DefaultAnonymousPerSecond = 20
	DefaultAnonymousBurst     = 100
	DefaultStreams            = 32
)

const (
	// maxCallers bounds the callers whose pace is remembered, at about 200 bytes.
	maxCallers = 65536
	// costRequest and costBadCredential are what a request takes of a limit.
	costRequest       = 1
	costBadCredential = 5
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

// Reconfigure replaces the limits and the kinds of the connections, for requests that
// come from now on.
func (s *Server) Reconfigure(l Limits, connections map[string]code.HostKind) {
	l.ensureDefaults()
	s.streams.SetEach(max(l.Streams, 0))
	s.limits.Store(&l)
	s.connectionKinds.Store(&connections)
}

// rateLimitOf returns under which name a request is counted, and the limit.
func (s *Server) rateLimitOf(x *exchange) (key string, l pace.Limit) {
	a, limits := &x.principal.Actor, s.limits.Load()
	switch {
	case isOperator(x.principal):
		return "operator", pace.Limit{}
	case x.principal.Anonymous():
		return "address " + clientNetwork(x.address), pace.Limit{PerSecond: limits.AnonymousPerSecond, Burst: limits.AnonymousBurst}
	case a.Kind == account.ActorUser || a.Credential == "":
		key = "user " + string(a.User)
	default:
		key = string(a.Kind) + " " + a.Credential
	}
	return key, pace.Limit{PerSecond: limits.PerSecond, Burst: limits.Burst}
}

// isOperator reports whether p is the operator, who can read the data directory and
// could as well stop the server.
func isOperator(p *auth.Principal) bool { return p.Actor.Kind == account.ActorOperator }

// clientNetwork returns the part of an address that belongs to one client: of IPv6 the
// first 64 bits.
func clientNetwork(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap(); a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// chargeLimit takes the cost of a request from what its caller may do.
func (s *Server) chargeLimit(x *exchange, rt *route, cost int) error {
	if !rt.isRateLimited() {
		return nil
	}
	key, limit := s.rateLimitOf(x)
	if limit.Unlimited() {
		return nil
	}
	d := s.pace.Take(key, limit, cost, s.o.Now())
	x.pace = &paceState{limit, d}
	if d.Allowed {
		return nil
	}
	x.refusal = audit.RateLimited
	s.metrics.refusals.WithLabelValues(refusalRate).Inc()
	return &rateError{wait: d.Wait, reason: fmt.Sprintf("at most %d requests per second, after a burst of %d", limit.PerSecond, limit.Burst)}
}

// paceState is the state of a caller's rate limit.
type paceState struct {
	limit pace.Limit
	pace.Decision
}

// setHeaders sets what the layers around a handler have to say.
func (x *exchange) setHeaders(h http.Header) {
	x.pace.setHeaders(h)
	if x.cookie != nil {
		h.Add("Set-Cookie", x.cookie.String())
	}
}

// setHeaders reports the rate limit to the client, in the format of the IETF's draft.
func (p *paceState) setHeaders(h http.Header) {
	if p == nil {
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(p.limit.Burst))
	h.Set("RateLimit-Remaining", strconv.Itoa(max(p.Remaining, 0)))
	h.Set("RateLimit-Reset", strconv.Itoa(wholeSeconds(p.Reset)))
	h.Set("RateLimit-Policy", fmt.Sprintf("%d;w=%d", p.limit.Burst, max(1, p.limit.Burst/max(p.limit.PerSecond, 1))))
}

// wholeSeconds rounds up: who waits that long has waited long enough.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// enterStream counts a stream.
func (s *Server) enterStream(x *exchange) (leave func(), err error) {
	key, _ := s.rateLimitOf(x)
	leave, full := s.streams.Enter(key, isOperator(x.principal) || s.limits.Load().Streams < 0)
	switch full {
	case pace.FullOfAll:
		return nil, errStreams
	case pace.FullOfCaller:
		x.refusal = audit.RateLimited
		s.metrics.refusals.WithLabelValues(refusalStreams).Inc()
		return nil, &rateError{wait: time.Second, reason: fmt.Sprintf("at most %d streams at once", s.limits.Load().Streams)}
	}
	return leave, nil
}

// rateError is a 429.
type rateError struct {
	wait   time.Duration
	reason string
}

// Error says how much is too much.
func (e *rateError) Error() string { return "too many requests: " + e.reason }
