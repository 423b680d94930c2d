package gitlab

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serveMembers serves the members part of GitLab's REST API according to its
// documentation. Users who may not read are listed first.
func serveMembers(base string, w *hosttest.MemberWorld) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v4/projects/{path}", func(rw http.ResponseWriter, r *http.Request) {
		if r.PathValue("path") != "acme/vault" {
			hosttest.WriteJSON(rw, http.StatusNotFound, map[string]string{"message": "404 Project Not Found"})
			return
		}
		hosttest.WriteJSON(rw, http.StatusOK, describe(base, hosttest.Repo{ID: w.ID, Owner: "acme", Name: "vault", Branch: "main"}))
	})
	mux.HandleFunc("GET /api/v4/projects/{id}/members/all", func(rw http.ResponseWriter, r *http.Request) {
		listed := []any{
			map[string]any{"id": 1, "username": "guest", "state": "active", "access_level": 10},
			map[string]any{"id": 2, "username": "blocked", "state": "blocked", "access_level": 50},
			map[string]any{"id": 3, "username": "awaiting", "state": "active", "membership_state": "awaiting", "access_level": 30},
		}
		if r.PathValue("id") != "7" {
			listed = nil
		}
		for _, id := range w.Members {
			listed = append(listed, map[string]any{"id": id, "username": fmt.Sprint("user", id), "state": "active", "membership_state": "active", "access_level": 20, "expires_at": nil})
		}
		out := []any{}
		for _, x := range hosttest.Page(rw, r, base, "per_page", 100, hosttest.Repos("acme", len(listed))) {
			out = append(out, listed[x.ID-1])
		}
		hosttest.WriteJSON(rw, http.StatusOK, out)
	})
	mux.HandleFunc("GET /api/v4/users/{id}", func(rw http.ResponseWriter, r *http.Request) {
		confirmed := any("2026-01-26T19:06:43.000Z")
		if r.PathValue("id") == "6" {
			confirmed = nil
		}
		var id int
		_, _ = fmt.Sscan(r.PathValue("id"), &id)
		hosttest.WriteJSON(rw, http.StatusOK, map[string]any{"id": id, "state": "active", "email": fmt.Sprintf("User%d@example.org", id), "confirmed_at": confirmed})
	})
	return mux
}

func TestReadMembers(t *testing.T) {
	hosttest.RunMembers(t, hosttest.MemberSuite{
		Kind: code.GitLab, Open: Open, Serve: serveMembers, Path: "/members",
		Host: func(h discovery.Host) string { return h.Name },
	})
}

// TestReadMemberEmails checks that only confirmed addresses are read, and that a user
// whose address cannot be read fails the whole reading.
func TestReadMemberEmails(t *testing.T) {
	server := hosttest.NewServer(t, false, func(base string) http.Handler {
		return serveMembers(base, &hosttest.MemberWorld{ID: 7, Members: []int{5, 6}})
	})
	c := discovery.Connection{Name: "lab", Kind: code.GitLab, URL: server.URL, Token: "s3cret", ReadEmails: true}
	open := func() discovery.MemberReader {
		reader, err := discovery.OpenMembers(map[code.HostKind]discovery.Open{code.GitLab: Open}, c, server.Client())
		if err != nil {
			t.Fatal(err)
		}
		return reader
	}
	host, err := discovery.ParseHost(c, DefaultURL)
	if err != nil {
		t.Fatal(err)
	}
	r := code.Repository{ID: code.NewRepositoryID(host.Name, "7"), DisplayName: "acme/vault"}
	reader := open()
	for range 2 {
		got, err := reader.ReadMembers(t.Context(), r)
		if err != nil || !slices.Equal(got.Users, []string{"5", "6"}) || !slices.Equal(got.Emails, []string{"user5@example.org"}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if all, _ := server.Requests(); all != 6 {
		t.Errorf("%d requests, want 6: an address is read once", all)
	}
	server.SetFault("/users/6", hosttest.Garbage)
	if got, err := open().ReadMembers(t.Context(), r); err == nil {
		t.Errorf("no error, %+v", got)
	}
}
