package hosttest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MemberSuite describes a kind of host to the tests of its MemberReader.
type MemberSuite struct {
	Kind code.HostKind
	Open discovery.Open
	// Serve serves one repository, acme/vault with ID 7, which Members may read; path is
	// part of the URLs of their list.
	Serve func(base string, w *MemberWorld) http.Handler
	Path  string
	// Host returns the name that the IDs of repositories are derived from.
	Host func(h discovery.Host) string
	// ID is the host's identity of the repository with ID 7; empty means 7.
	ID string
	// Name is its display name; empty means acme/vault.
	Name string
}

// MemberWorld is the state of a contract server.
type MemberWorld struct {
	// ID is the ID of the repository named acme/vault.
	ID int
	// Members are users who may read it.
	Members []int
}

// noSleep ends each wait immediately.
func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// RunMembers runs the suite: pages, faults, rate limits and a reused name.
func RunMembers(t *testing.T, s MemberSuite) {
	w := &MemberWorld{ID: 7}
	var want []string
	for i := range 230 { // three pages of 100
		w.Members = append(w.Members, 1000+i)
		want = append(want, strconv.Itoa(1000+i))
	}
	server := NewServer(t, false, func(base string) http.Handler { return s.Serve(base, w) })
	c := discovery.Connection{Name: "hub", Kind: s.Kind, URL: server.URL, Token: "s3cret"}
	transport := hostapi.NewTransport(hostapi.Options{Timeout: time.Hour, MaxBodyBytes: 1 << 20, Sleep: noSleep})
	reader, err := discovery.OpenMembers(map[code.HostKind]discovery.Open{s.Kind: s.Open}, c, transport.Client())
	if err != nil {
		t.Fatal(err)
	}
	host, err := discovery.ParseHost(c, "")
	if err != nil {
		t.Fatal(err)
	}
	r := code.Repository{ID: code.NewRepositoryID(s.Host(host), cmp.Or(s.ID, "7")), DisplayName: cmp.Or(s.Name, "acme/vault"), Private: true}

	got, err := reader.ReadMembers(t.Context(), r)
	if err != nil || !slices.Equal(got.Users, want) {
		t.Fatalf("%d users, %v, want %d", len(got.Users), err, len(want))
	}
	w.Members = w.Members[:99]
	if got, err = reader.ReadMembers(t.Context(), r); err != nil || !slices.Equal(got.Users, want[:99]) {
		t.Errorf("after some were removed: %d users, %v", len(got.Users), err)
	}
	w.Members = nil
	if got, err = reader.ReadMembers(t.Context(), r); err != nil || len(got.Users) != 0 {
		t.Errorf("without members: %v, %v", got.Users, err)
	}
	w.Members = []int{5}
	for _, fault := range []Fault{HTML, Unauthorized, Forbidden, NotFound, Failing, Garbage, Cut, Elsewhere, Endless} {
		server.SetFault(s.Path, fault)
		if got, err := reader.ReadMembers(t.Context(), r); err == nil {
			t.Errorf("%s: no error, users %v", fault, got.Users)
		}
		server.ClearFaults()
	}
	server.RefuseNext(1, func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "1")
		WriteJSON(w, http.StatusTooManyRequests, map[string]string{"message": "slow down"})
	})
	if got, err = reader.ReadMembers(t.Context(), r); err != nil || !slices.Equal(got.Users, []string{"5"}) {
		t.Errorf("after a rate limit: %v, %v", got.Users, err)
	}
	w.ID = 8 // acme/vault was renamed, and another repository has its name
	if got, err := reader.ReadMembers(t.Context(), r); err == nil {
		t.Errorf("users of another repository: %v", got.Users)
	}
}
