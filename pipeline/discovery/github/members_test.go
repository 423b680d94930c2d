package github

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serveMembers serves the collaborators part of GitHub's REST API according to its
// documentation. It also lists a user who may not read.
func serveMembers(base string, w *hosttest.MemberWorld) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v3/repos/acme/vault", func(rw http.ResponseWriter, _ *http.Request) {
		hosttest.WriteJSON(rw, http.StatusOK, describe(base, hosttest.Repo{ID: w.ID, Owner: "acme", Name: "vault", Private: true, Branch: "main"}))
	})
	mux.HandleFunc("GET /api/v3/repos/acme/vault/collaborators", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("affiliation") != "all" {
			hosttest.WriteJSON(rw, http.StatusUnprocessableEntity, map[string]string{"message": "want all"})
			return
		}
		all := hosttest.Repos("acme", len(w.Members))
		out := []any{}
		for _, x := range hosttest.Page(rw, r, base, "per_page", 100, all) {
			id := w.Members[x.ID-1]
			out = append(out, map[string]any{
				"login": fmt.Sprint("user", id), "id": id, "type": "User", "site_admin": false, "role_name": "read",
				"permissions": map[string]bool{"pull": true, "triage": false, "push": false, "maintain": false, "admin": false},
			})
		}
		out = append(out, map[string]any{"login": "nobody", "id": 1, "permissions": map[string]bool{"pull": false}})
		hosttest.WriteJSON(rw, http.StatusOK, out)
	})
	return mux
}

func TestReadMembers(t *testing.T) {
	hosttest.RunMembers(t, hosttest.MemberSuite{
		Kind: code.GitHub, Open: Open, Serve: serveMembers, Path: "/collaborators",
		Host: func(h discovery.Host) string { return h.Address },
	})
}
