package hosttest

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Suite describes one kind of host.
type Suite struct {
	Kind code.HostKind
	Open discovery.Open
	// Serve returns the API of a host with the given repositories. base is its URL.
	Serve func(base string, repos []Repo) http.Handler
	// Targets select all repositories of the owner acme. If there are several, a lister
	// finds each repository once.
	Targets discovery.Targets
	// Unknown is Targets preceded by one target that the host lacks, and UnknownName is
	// that target.
	Unknown     discovery.Targets
	UnknownName string
	// Misspelled has one target in a form that the kind does not accept; nil if there is
	// none.
	Misspelled *discovery.Targets
	// DisplayName returns the display name of a repository.
	DisplayName func(r Repo) string
	// PageSize is the number of repositories per page; 0 if the API returns all in one
	// response.
	PageSize int
	// Header is the header with the token, and HeaderValue its value for the user ann and
	// the token s3cret; empty if there is none.
	Header, HeaderValue string
	// HTMLCode is the code for a page instead of JSON. Default: hostapi.NotJSON.
	HTMLCode hostapi.Code
}

// clock is a clock that sleepers advance.
type clock struct {
	now   time.Time
	slept []time.Duration
}

func (c *clock) options() hostapi.Options {
	return hostapi.Options{
		Timeout: time.Hour, MaxBodyBytes: 2 << 20,
		Now: func() time.Time { return c.now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			c.now, c.slept = c.now.Add(d), append(c.slept, d)
			return ctx.Err()
		},
	}
}

// Result is the result of a listing.
type Result struct {
	Found  []discovery.Found
	Issues []discovery.Issue
	// Complete means that nothing may be missing.
	Complete bool
	Err      error
}

// names returns the display names in order.
func (r *Result) names() []string {
	out := make([]string, len(r.Found))
	for i, f := range r.Found {
		out[i] = f.DisplayName
	}
	slices.Sort(out)
	return out
}

func (r *Result) codes() []string {
	var out []string
	for _, i := range r.Issues {
		out = append(out, string(i.Code))
	}
	return out
}

// ListAll lists a connection through a client.
func ListAll(t testing.TB, open discovery.Open, c discovery.Connection, client *http.Client) Result {
	t.Helper()
	lister, err := open(c, client)
	if err != nil {
		t.Fatal(err)
	}
	var out Result
	out.Found, out.Issues, out.Complete, out.Err = discovery.ListWith(context.Background(), lister, c, discovery.DefaultMaxRepositories)
	return out
}

// Run checks a kind against the contract.
func Run(t *testing.T, s Suite) {
	count := max(3, 2*s.PageSize+1)
	repos := append(Repos("acme", count), Repo{ID: 900_000, Owner: "other", Name: "hidden", Branch: "main"})
	connection := func(base string) discovery.Connection {
		return discovery.Connection{Name: "c", Kind: s.Kind, URL: base, User: "ann", Token: "s3cret", Targets: s.Targets}
	}
	start := func(t *testing.T) (*Server, *clock, *hostapi.Transport) {
		server := NewServer(t, false, func(base string) http.Handler { return s.Serve(base, repos) })
		c := &clock{now: time.Unix(1_800_000_000, 0)}
		return server, c, hostapi.NewTransport(c.options())
	}
	var want []string
	for _, r := range repos[:count] {
		want = append(want, s.DisplayName(r))
	}
	slices.Sort(want)
	checkWhole := func(t *testing.T, got Result) {
		t.Helper()
		if got.Err != nil || !got.Complete || len(got.Issues) > 0 || !slices.Equal(got.names(), want) {
			t.Fatalf("found %d repositories, want %d; complete %v, issues %v, error %v\n%.300q", len(got.Found), len(want), got.Complete, got.Issues, got.Err, got.names())
		}
	}

	t.Run("pages and conditional requests", func(t *testing.T) {
		server, _, transport := start(t)
		checkWhole(t, ListAll(t, s.Open, connection(server.URL), transport.Client()))
		before, _ := server.Requests()
		checkWhole(t, ListAll(t, s.Open, connection(server.URL), transport.Client()))
		after, unchanged := server.Requests()
		if unchanged != after-before {
			t.Errorf("the second listing made %d requests, of which %d were answered by 304", after-before, unchanged)
		}
		if s.Header != "" && server.Headers()[0].Get(s.Header) != s.HeaderValue {
			t.Errorf("%s is %q, want %q", s.Header, server.Headers()[0].Get(s.Header), s.HeaderValue)
		}
	})

	t.Run("rate limits", func(t *testing.T) {
		server, c, transport := start(t)
		server.RefuseNext(2, RefuseByRetryAfter(http.StatusTooManyRequests, 7*time.Second))
		checkWhole(t, ListAll(t, s.Open, connection(server.URL), transport.Client()))
		if len(c.slept) != 2 || c.slept[0] != 7*time.Second {
			t.Errorf("slept %v, want 7s twice", c.slept)
		}
		server.RefuseNext(1, RefuseByReset(c.now.Add(40*time.Minute)))
		checkWhole(t, ListAll(t, s.Open, connection(server.URL), transport.Client()))
		if last := c.slept[len(c.slept)-1]; last < 40*time.Minute || last > 41*time.Minute {
			t.Errorf("slept %v, want until the reset in 40 minutes", last)
		}
		server.RefuseNext(1, RefuseByReset(c.now.Add(10*time.Hour)))
		got := ListAll(t, s.Open, connection(server.URL), transport.Client())
		if got.Complete || !slices.Contains(got.codes(), string(hostapi.RateLimited)) {
			t.Errorf("a limit of ten hours: complete %v, issues %v", got.Complete, got.Issues)
		}
	})

	t.Run("faults", func(t *testing.T) {
		for fault, want := range map[Fault]hostapi.Code{
			HTML: valueOr(s.HTMLCode, hostapi.NotJSON), Unauthorized: hostapi.Unauthorized, Forbidden: hostapi.Forbidden, NotFound: hostapi.NotFound,
			Failing: hostapi.HostFailed, Garbage: hostapi.HostFailed, Cut: hostapi.Unreachable, Elsewhere: hostapi.Redirected, Endless: hostapi.TooLarge,
		} {
			server, _, transport := start(t)
			server.SetFault("", fault)
			got := ListAll(t, s.Open, connection(server.URL), transport.Client())
			if got.Complete || len(got.Found) > 0 || !slices.Contains(got.codes(), string(want)) {
				t.Errorf("%s: complete %v, %d found, issues %v, want %s", fault, got.Complete, len(got.Found), got.Issues, want)
			}
			for _, i := range got.Issues {
				if d := i.Describe(); d.Meaning == "" || d.Remedy == "" || d.Meaning == "The sync failed." {
					t.Errorf("%s: the issue %s has no meaning or no remedy", fault, i.Code)
				}
			}
			server.ClearFaults()
			checkWhole(t, ListAll(t, s.Open, connection(server.URL), transport.Client()))
		}
	})

	t.Run("host down", func(t *testing.T) {
		server, _, transport := start(t)
		c := connection(server.URL)
		server.Close()
		got := ListAll(t, s.Open, c, transport.Client())
		if got.Complete || !slices.Contains(got.codes(), string(hostapi.Unreachable)) {
			t.Errorf("complete %v, issues %v", got.Complete, got.Issues)
		}
	})

	t.Run("certificate", func(t *testing.T) {
		server := NewServer(t, true, func(base string) http.Handler { return s.Serve(base, repos) })
		server.Config.ErrorLog = nil
		got := ListAll(t, s.Open, connection(server.URL), hostapi.NewTransport(hostapi.Options{Attempts: 1}).Client())
		if got.Complete || !slices.Contains(got.codes(), string(hostapi.TLS)) {
			t.Errorf("complete %v, issues %v", got.Complete, got.Issues)
		}
	})

	if s.UnknownName != "" { // else the kind has one target
		t.Run("others go on", func(t *testing.T) {
			server, _, transport := start(t)
			c := connection(server.URL)
			c.Targets = s.Unknown
			got := ListAll(t, s.Open, c, transport.Client())
			if got.Complete || len(got.Issues) != 1 || got.Issues[0].Code != discovery.IssueCode(hostapi.NotFound) || got.Issues[0].Target != s.UnknownName || !slices.Equal(got.names(), want) {
				t.Errorf("complete %v, issues %v, %d found, want %d", got.Complete, got.Issues, len(got.Found), len(want))
			}
			if s.Misspelled == nil {
				return
			}
			c.Targets = *s.Misspelled
			before, _ := server.Requests()
			got = ListAll(t, s.Open, c, transport.Client())
			if after, _ := server.Requests(); got.Complete || len(got.Issues) != 1 || got.Issues[0].Code != discovery.InvalidTarget || after != before {
				t.Errorf("a misspelled target: complete %v, issues %v, %d requests", got.Complete, got.Issues, after-before)
			}
		})
	}

	if s.Kind != code.Gerrit { // its clone URLs are made here
		t.Run("repositories on another host", func(t *testing.T) {
			server, _, transport := start(t)
			server.handler = s.Serve("https://elsewhere.example.org", repos)
			got := ListAll(t, s.Open, connection(server.URL), transport.Client())
			if len(got.Found) > 0 || len(got.Issues) == 0 {
				t.Errorf("%d found, issues %v", len(got.Found), got.Issues)
			}
		})
	}
}

func valueOr[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}
