package gitea

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// memberHost is the part of Gitea's API with the permissions on acme/vault, in the format
// of version 1.26.
type memberHost struct {
	repository    map[string]any // replaces fields of its description
	collaborators []int
	teams         []map[string]any // nil if a user owns the repository
	members       map[string][]int // by team ID; "acme" has the members of the organization
}

func (h *memberHost) serve(base string) http.Handler {
	mux := http.NewServeMux()
	list := func(w http.ResponseWriter, r *http.Request, ids []int) {
		out := []any{}
		for _, x := range hosttest.Page(w, r, base, "limit", 30, hosttest.Repos("acme", len(ids))) {
			out = append(out, map[string]any{"id": ids[x.ID-1], "login": "someone", "restricted": false, "visibility": "public"})
		}
		hosttest.WriteJSON(w, http.StatusOK, out)
	}
	mux.HandleFunc("GET /api/v1/repos/acme/vault", func(w http.ResponseWriter, _ *http.Request) {
		described := describe(base, hosttest.Repo{ID: 7, Owner: "acme", Name: "vault", Private: true, Branch: "main"})
		maps.Copy(described, h.repository)
		hosttest.WriteJSON(w, http.StatusOK, described)
	})
	mux.HandleFunc("GET /api/v1/repos/acme/vault/collaborators", func(w http.ResponseWriter, r *http.Request) { list(w, r, h.collaborators) })
	mux.HandleFunc("GET /api/v1/repos/acme/vault/teams", func(w http.ResponseWriter, _ *http.Request) {
		if h.teams == nil {
			hosttest.WriteJSON(w, http.StatusMethodNotAllowed, map[string]string{"message": "repo is not owned by an organization"})
			return
		}
		hosttest.WriteJSON(w, http.StatusOK, h.teams)
	})
	mux.HandleFunc("GET /api/v1/teams/{id}/members", func(w http.ResponseWriter, r *http.Request) { list(w, r, h.members[r.PathValue("id")]) })
	mux.HandleFunc("GET /api/v1/orgs/acme/members", func(w http.ResponseWriter, r *http.Request) { list(w, r, h.members["acme"]) })
	return mux
}

// serveMembers serves some members of a world as collaborators, and the rest in a team.
func serveMembers(base string, w *hosttest.MemberWorld) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		some := len(w.Members) / 2
		h := memberHost{
			repository:    map[string]any{"id": w.ID},
			collaborators: append([]int{-1}, w.Members[:some]...), // a deleted user
			teams:         []map[string]any{{"id": 4, "permission": "read", "units_map": map[string]string{codeUnit: "read"}}},
			members:       map[string][]int{"4": w.Members[some:]},
		}
		h.serve(base).ServeHTTP(rw, r)
	})
}

func TestReadMembers(t *testing.T) {
	for _, path := range []string{"/collaborators", "/vault/teams", "/members"} {
		t.Run(path, func(t *testing.T) {
			hosttest.RunMembers(t, hosttest.MemberSuite{
				Kind: code.Gitea, Open: Open, Serve: serveMembers, Path: path,
				Host: func(h discovery.Host) string { return h.Name },
			})
		})
	}
}

// TestReadersAreThoseOfGitea has a row for each of Gitea's rules on who may read the
// files of a repository: models/perm/access/repo_permission.go of Gitea 1.26.
func TestReadersAreThoseOfGitea(t *testing.T) {
	team := func(permission, ofCode string) []map[string]any {
		units := map[string]string{"repo.issues": "write"}
		if ofCode != "" {
			units[codeUnit] = ofCode
		}
		return []map[string]any{{"id": 4, "permission": permission, "units_map": units, "units": []string{"repo.issues"}}}
	}
	members := map[string][]int{"4": {40, 41}, "acme": {40, 41, 50}}
	for _, c := range []struct {
		name string
		host memberHost
		want []string
	}{
		{"its owner and a collaborator", memberHost{collaborators: []int{9}}, []string{"2", "9"}},
		{"a team that reads", memberHost{teams: team("read", "read")}, []string{"40", "41"}},
		{"a team and a collaborator in it", memberHost{teams: team("write", "write"), collaborators: []int{9, 40}}, []string{"40", "41", "9"}},
		{"owners, who need no unit", memberHost{teams: team("owner", "")}, []string{"40", "41"}},
		{"administrators, who need no unit", memberHost{teams: team("admin", "none")}, []string{"40", "41"}},
		{"a team for issues", memberHost{teams: team("none", "none")}, nil},
		{"a team for issues with a permission in general", memberHost{teams: team("write", "")}, nil},
		{"a collaborator in a team for issues", memberHost{teams: team("none", ""), collaborators: []int{40}}, []string{"40"}},
		{"no team", memberHost{teams: []map[string]any{}}, nil},
		{"a team of an old Gitea", memberHost{teams: []map[string]any{{"id": 4, "permission": "read", "units": []string{codeUnit}}}}, []string{"40", "41"}},
		{"a team of an old Gitea for issues", memberHost{teams: []map[string]any{{"id": 4, "permission": "read", "units": []string{"repo.issues"}}}}, nil},
		{"internal", memberHost{teams: team("none", ""), repository: map[string]any{"private": false, "internal": true}}, []string{"40", "41", "50"}},
		{"private in a private organization", memberHost{teams: team("none", ""), repository: map[string]any{"owner": map[string]any{"id": 2, "visibility": "private"}}}, nil},
		{"without files", memberHost{teams: team("owner", ""), collaborators: []int{9}, repository: map[string]any{"has_code": false}}, nil},
	} {
		c.host.members = members
		server := hosttest.NewServer(t, false, c.host.serve)
		connection := discovery.Connection{Name: "tea", Kind: code.Gitea, URL: server.URL, Token: "s3cret"}
		reader, err := discovery.OpenMembers(map[code.HostKind]discovery.Open{code.Gitea: Open}, connection, server.Client())
		if err != nil {
			t.Fatal(err)
		}
		host, err := discovery.ParseHost(connection, DefaultURL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := reader.ReadMembers(t.Context(), code.Repository{ID: code.NewRepositoryID(host.Name, "7"), DisplayName: "acme/vault"})
		if err != nil || !slices.Equal(got.Users, c.want) {
			t.Errorf("%s: users %v, %v, want %v", c.name, got.Users, err, c.want)
		}
	}
}

// TestOwnersHideRepositories checks that a repository is private if its owner is not
// visible to everyone.
func TestOwnersHideRepositories(t *testing.T) {
	open := false
	for visibility, private := range map[string]bool{"": false, "public": false, "limited": true, "private": true} {
		r := repository{ID: 7, FullName: "acme/vault", Private: &open}
		r.Owner.Visibility = visibility
		if got := (&lister{}).convertRepository(&r).Repository.Private; got != private {
			t.Errorf("owner is %q: private %t, want %t", visibility, got, private)
		}
	}
}
