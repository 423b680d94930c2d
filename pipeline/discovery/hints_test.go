package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// readerHost answers readings with a function. It is a Lister without repositories.
type readerHost struct {
	h *hintWorld
	c Connection
}

func (r readerHost) List(context.Context, *Listing) error { return nil }

func (r readerHost) ReadRepository(ctx context.Context, at HostRepository) (*Found, error) {
	r.h.mu.Lock()
	r.h.mu.readings++
	answer := r.h.mu.answer
	r.h.mu.Unlock()
	return answer(ctx, r.c, at)
}

// hintWorld is a world with a HintReader. Every connection has a token except bare;
// connection gone is not in the settings.
type hintWorld struct {
	*world
	reader *HintReader
	mu     struct {
		sync.Mutex
		readings int
		answer   func(ctx context.Context, c Connection, at HostRepository) (*Found, error)
		audits   []audit.Record
		syncs    []string
	}
}

func newHintWorld(t *testing.T) *hintWorld {
	h := &hintWorld{world: newWorld(t)}
	var err error
	h.reader, err = NewHintReader(HintOptions{
		Kinds: map[code.HostKind]Open{code.GitHub: func(c Connection, _ *http.Client) (Lister, error) { return readerHost{h, c}, nil }},
		Log:   h.world, Catalog: h.world,
		Renew: func(name string) (Connection, error) {
			c := Connection{Name: name, Kind: code.GitHub, Token: "t"}
			switch name {
			case "bare":
				c.Token = ""
			case "gone":
				return c, errors.New("the settings do not have it")
			}
			return c, nil
		},
		RequestSync: func(name string) { h.mu.Lock(); defer h.mu.Unlock(); h.mu.syncs = append(h.mu.syncs, name) },
		Audit: func(_ context.Context, r audit.Record) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.mu.audits = append(h.mu.audits, r)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// answerWith sets the answer of the host.
func (h *hintWorld) answerWith(answer func(ctx context.Context, c Connection, at HostRepository) (*Found, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.answer = answer
}

func (h *hintWorld) answerFound(f Found) {
	h.answerWith(func(context.Context, Connection, HostRepository) (*Found, error) { return &f, nil })
}

func (h *hintWorld) answerError(err error) {
	h.answerWith(func(context.Context, Connection, HostRepository) (*Found, error) { return nil, err })
}

// takeReadings returns the number of readings since the last call.
func (h *hintWorld) takeReadings() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.mu.readings
	h.mu.readings = 0
	return n
}

// register registers a repository as it was found.
func (h *hintWorld) register(f Found, connection string) {
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	f.Repository.Connection = connection
	h.world.mu.registered[f.ID] = f.Repository
}

// follow runs the reader in a synctest bubble.
func (h *hintWorld) follow(f func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.reader.Run(ctx) }()
	f()
	cancel()
	if err := <-done; err != nil {
		h.t.Error(err)
	}
}

func hintOf(connection string, f Found) Hint {
	return Hint{Connection: connection, Repository: f.Repository, Identity: "1", DeliveryID: "d"}
}

var errNotFound = &hostapi.Error{Code: hostapi.NotFound, Status: 404}

func TestHintsOfOneRepositoryCauseOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHintWorld(t)
		one := found(1, "o/one")
		h.register(one, "a")
		private := one
		private.Private = true
		h.answerWith(func(context.Context, Connection, HostRepository) (*Found, error) {
			<-time.After(time.Second) // in the time of the bubble
			return &private, nil
		})
		h.follow(func() {
			for range 50 {
				h.reader.Add(hintOf("a", one))
			}
			h.wait(100 * time.Millisecond)
			h.reader.Add(hintOf("a", one)) // during the reading, so it is read again
			h.wait(time.Minute, "changed host/o/one by a")
			if n := h.takeReadings(); n != 2 {
				t.Errorf("%d readings, want 2", n)
			}
			if r := h.mu.audits; len(r) != 1 || r[0].Action != audit.ChangedRepository || r[0].Metadata["cause"] != causeReading || r[0].Metadata["private"] != "true" || r[0].Metadata["delivery"] != "d" {
				t.Errorf("audit records %+v", r)
			}
			if n := h.reader.Pending(); n != 0 {
				t.Errorf("%d hints wait", n)
			}
		})
	})
}

func TestHintsAreRetriedAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHintWorld(t)
		one := found(1, "o/one")
		h.register(one, "a")
		h.answerError(errDown)
		h.follow(func() {
			h.reader.Add(hintOf("a", one))
			h.wait(time.Minute)
			if n := h.takeReadings(); n < 4 || n > 6 {
				t.Errorf("%d readings in a minute", n)
			}
			renamed := found(1, "o/uno")
			h.answerFound(renamed)
			h.wait(2*time.Minute, "changed host/o/uno by a")
			h.answerError(errDown)
			h.takeReadings()
			h.reader.Add(hintOf("a", one))
			h.wait(2 * time.Hour)
			if n := h.takeReadings(); n != maxHintAttempts || h.reader.Pending() != 0 {
				t.Errorf("%d readings, want %d; %d hints wait", n, maxHintAttempts, h.reader.Pending())
			}
		})
	})
}

// TestRepeatedHintsAreBounded checks that repeated deliveries do not use up the rate limit
// of the host, and that none is forgotten.
func TestRepeatedHintsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHintWorld(t)
		one := found(1, "o/one")
		h.register(one, "a")
		h.answerFound(one)
		h.follow(func() {
			for range 100 {
				h.reader.Add(hintOf("a", one))
				h.wait(time.Second)
			}
			if n := h.takeReadings(); n != maxRepositoryHints {
				t.Errorf("%d readings of a repository in %s, want %d", n, hintWindow, maxRepositoryHints)
			}
			h.wait(hintWindow)
			if n := h.takeReadings(); n != 1 || h.reader.Pending() != 0 {
				t.Errorf("%d readings after the window, want 1; %d hints wait", n, h.reader.Pending())
			}
			for i := range 2 * maxConnectionHints {
				h.reader.Add(hintOf("a", found(100+i, fmt.Sprint("x/", i))))
			}
			h.wait(time.Second)
			if n := h.takeReadings(); n > maxConnectionHints {
				t.Errorf("%d readings of a connection in %s, at most %d", n, hintWindow, maxConnectionHints)
			}
			h.wait(2 * hintWindow)
			if n := h.reader.Pending(); n != 0 {
				t.Errorf("%d hints wait", n)
			}
		})
	})
}

func TestTooManyHintsAreDropped(t *testing.T) {
	h := newHintWorld(t)
	for i := range maxHints {
		if !h.reader.Add(hintOf("a", found(i+1, fmt.Sprint("x/", i)))) {
			t.Fatalf("hint %d is dropped", i)
		}
	}
	if h.reader.Add(hintOf("a", found(maxHints+1, "x/more"))) || !h.reader.Add(hintOf("a", found(1, "x/0"))) {
		t.Error("want one more to be dropped, and a repeated one to be kept")
	}
}

// TestAHostThatHangsDelaysNoOther checks that the readings of a connection do not wait for
// those of another.
func TestAHostThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHintWorld(t)
		one, two := found(1, "o/one"), found(2, "o/two")
		h.register(found(2, "o/before"), "b")
		h.answerWith(func(ctx context.Context, c Connection, _ HostRepository) (*Found, error) {
			if c.Name == "a" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &two, nil
		})
		h.follow(func() {
			h.reader.Add(hintOf("a", one))
			h.reader.Add(hintOf("b", two))
			h.wait(time.Second, "changed host/o/two by b")
		})
	})
}

// TestHintRules checks what a reading changes.
func TestHintRules(t *testing.T) {
	public, private := found(1, "o/one"), found(1, "o/one")
	private.Private = true
	other := found(2, "o/one")
	manual := Found{Repository: code.Repository{ID: 9, Kind: code.GitHub, Name: "mine", CloneURL: public.CloneURL, DefaultBranch: "main", Private: true}}
	elsewhere := public
	elsewhere.Invalid = errors.New("on another host")
	for _, test := range []struct {
		name       string
		registered Found
		owner      string
		connection string
		removed    bool
		answer     *Found
		err        error
		want       []string
		syncs      []string
	}{
		{"widening", private, "a", "a", false, &public, nil, []string{"changed host/o/one by a"}, nil},
		{"nothing new", public, "a", "a", false, &public, nil, nil, nil},
		{"of another connection", private, "b", "a", false, &public, nil, nil, nil},
		{"of another connection, absent", public, "b", "a", true, nil, errNotFound, nil, nil},
		{"not registered", other, "a", "a", false, &public, nil, nil, nil},
		{"another repository", private, "a", "a", false, &other, nil, nil, nil},
		{"on another host", private, "a", "a", false, &elsewhere, nil, nil, nil},
		{"by hand", manual, "", "a", false, &public, nil, []string{"changed mine by "}, nil},
		{"by hand, absent", manual, "", "a", true, nil, errNotFound, nil, nil},
		{"removed, still there", public, "a", "a", true, &public, nil, nil, nil},
		{"removed", public, "a", "a", true, nil, errNotFound, []string{"removed host/o/one"}, nil},
		{"removed, private", private, "a", "a", true, nil, errNotFound, []string{"removed host/o/one"}, nil},
		{"removed, private, without a token", private, "bare", "bare", true, nil, errNotFound, nil, nil},
		{"removed, public, without a token", public, "bare", "bare", true, nil, errNotFound, []string{"removed host/o/one"}, nil},
		{"changed, absent", public, "a", "a", false, nil, errNotFound, []string{"changed host/o/one by a"}, []string{"a"}},
		{"changed, absent, private", private, "a", "a", false, nil, errNotFound, nil, nil},
		{"token rejected", public, "a", "a", true, nil, &hostapi.Error{Code: hostapi.Unauthorized}, nil, nil},
		{"connection removed from the settings", private, "gone", "gone", false, &public, nil, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHintWorld(t)
				h.register(test.registered, test.owner)
				h.answerWith(func(context.Context, Connection, HostRepository) (*Found, error) { return test.answer, test.err })
				h.follow(func() {
					hint := hintOf(test.connection, public)
					hint.Removed = test.removed
					h.reader.Add(hint)
					h.wait(time.Second, test.want...)
					if !slices.Equal(h.mu.syncs, test.syncs) || h.reader.Pending() != 0 {
						t.Errorf("syncs %v, want %v; %d hints wait", h.mu.syncs, test.syncs, h.reader.Pending())
					}
				})
			})
		})
	}
}

func TestConfirm(t *testing.T) {
	h := newHintWorld(t)
	one := found(1, "o/one")
	for name, test := range map[string]struct {
		connection string
		answer     Found
		err        error
		want       error
		temporary  bool
	}{
		"found":                   {"a", one, nil, nil, false},
		"absent":                  {"a", one, errNotFound, ErrHostLacks, false},
		"hidden without a token":  {"bare", one, errNotFound, ErrUnconfirmed, false},
		"token rejected":          {"a", one, &hostapi.Error{Code: hostapi.Unauthorized}, ErrUnconfirmed, false},
		"another repository":      {"a", found(2, "o/one"), nil, ErrUnconfirmed, false},
		"host down":               {"a", one, errDown, nil, true},
		"no such connection left": {"gone", one, nil, errNoHintConnection, false},
	} {
		h.answerWith(func(context.Context, Connection, HostRepository) (*Found, error) { return &test.answer, test.err })
		got, err := h.reader.Confirm(t.Context(), hintOf(test.connection, one))
		switch {
		case test.temporary:
			if err == nil || isFinal(err) {
				t.Errorf("%s: %v, want a temporary error", name, err)
			}
		case test.want == nil:
			if err != nil || got.Connection != test.connection || got.CloneURL != one.CloneURL {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		case !errors.Is(err, test.want):
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	noAPI := hintOf("a", one)
	noAPI.Identity = ""
	if _, err := h.reader.Confirm(t.Context(), noAPI); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("without an identity: %v", err)
	}
	h.answerFound(one)
	var err error
	for range maxRepositoryHints + 1 {
		_, err = h.reader.Confirm(t.Context(), hintOf("many", one))
	}
	if err == nil || isFinal(err) {
		t.Errorf("after many: %v, want a temporary error", err)
	}
	h.answerError(errNotFound)
	for range maxRepositoryHints + 1 {
		_, err = h.reader.Confirm(t.Context(), hintOf("absent", one))
	}
	if n := h.takeReadings(); !errors.Is(err, ErrHostLacks) {
		t.Errorf("after many of an absent repository: %v, %d readings in all", err, n)
	}
}
