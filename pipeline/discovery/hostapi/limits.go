package hostapi

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// gate delays requests until the time that the host named.
type gate struct {
	mu struct {
		sync.Mutex
		until time.Time
	}
}

func (g *gate) closedUntil() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.until
}

func (g *gate) closeUntil(t time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.After(g.mu.until) {
		g.mu.until = t
	}
}

// minSecondaryWait is the wait that GitHub requires if a secondary limit names no time.
const minSecondaryWait = time.Minute

// readLimit returns the time until which a response asks for no more requests, and
// whether it is a refusal that may be retried then. It reads the headers of GitHub,
// GitLab, Gitea, Bitbucket and Azure DevOps.
func readLimit(resp *http.Response, body []byte, now time.Time) (until time.Time, refused bool) {
	reset := readReset(resp.Header, now)
	spent := firstHeader(resp.Header, "X-RateLimit-Remaining", "RateLimit-Remaining") == "0"
	after, named := readRetryAfter(resp.Header, now)
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && named:
		refused = true
	case status == http.StatusForbidden:
		// GitHub answers 403 for both of its limits.
		refused = named || spent || strings.Contains(strings.ToLower(string(body)), "rate limit")
	}
	switch {
	case named:
		return after, refused
	case spent && !reset.IsZero():
		return reset, refused
	case refused:
		return now.Add(minSecondaryWait), true
	}
	return time.Time{}, false
}

// readRetryAfter parses Retry-After, in seconds or as a date.
func readRetryAfter(h http.Header, now time.Time) (time.Time, bool) {
	text := h.Get("Retry-After")
	if text == "" {
		return time.Time{}, false
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < float64(maxNamedWait/time.Second) {
		return now.Add(time.Duration(seconds * float64(time.Second))), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return at, true
	}
	return now.Add(maxNamedWait), true
}

// maxNamedWait bounds the wait that a header can name.
const maxNamedWait = 24 * time.Hour

// readReset parses when a rate limit resets: seconds since 1970 or, on some hosts, from
// now.
func readReset(h http.Header, now time.Time) time.Time {
	n, err := strconv.ParseInt(firstHeader(h, "X-RateLimit-Reset", "RateLimit-Reset"), 10, 64)
	switch {
	case err != nil || n <= 0:
		return time.Time{}
	case n < int64(maxNamedWait/time.Second):
		return now.Add(time.Duration(n) * time.Second)
	}
	at := time.Unix(n, 0).Add(time.Second) // the clocks may differ
	if at.Sub(now) > maxNamedWait {
		return now.Add(maxNamedWait)
	}
	return at
}

func firstHeader(h http.Header, names ...string) string {
	for _, name := range names {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}
