package bitbucketserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// memberHost is the permissions part of Bitbucket's API for the repository vault of a
// project. lists has the values of each list, by the end of its path or by the name of a
// group.
type memberHost struct {
	key   string
	id    int
	lists map[string][]any
}

func (h *memberHost) serve(base string) http.Handler {
	mux := http.NewServeMux()
	repository := "/rest/api/1.0/projects/" + h.key + "/repos/vault"
	list := func(name func(r *http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			start, _ := strconv.Atoi(r.URL.Query().Get("start"))
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			all := h.lists[name(r)]
			end := min(start+limit, len(all))
			out := map[string]any{"size": end - start, "limit": limit, "isLastPage": end == len(all), "values": all[start:end], "start": start}
			if end < len(all) {
				out["nextPageStart"] = end
			}
			hosttest.WriteJSON(w, http.StatusOK, out)
		}
	}
	byPath := func(r *http.Request) string {
		return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/rest/api/1.0/projects/"+h.key), "/")
	}
	for _, kind := range []string{"users", "groups"} {
		mux.HandleFunc("GET "+repository+"/permissions/"+kind, list(byPath))
		mux.HandleFunc("GET /rest/api/1.0/projects/"+h.key+"/permissions/"+kind, list(byPath))
	}
	mux.HandleFunc("GET /rest/api/1.0/admin/groups/more-members", list(func(r *http.Request) string { return r.URL.Query().Get("context") }))
	mux.HandleFunc("GET "+repository, func(w http.ResponseWriter, _ *http.Request) {
		hosttest.WriteJSON(w, http.StatusOK, describe(base, hosttest.Repo{ID: h.id, Owner: strings.ToLower(h.key), Name: "vault", Private: true}))
	})
	mux.HandleFunc("GET /rest/api/1.0/projects/"+h.key, func(w http.ResponseWriter, _ *http.Request) {
		hosttest.WriteJSON(w, http.StatusOK, map[string]any{"key": h.key, "type": "PERSONAL", "owner": person(3, true)})
	})
	return mux
}

func person(id int, active bool) map[string]any {
	return map[string]any{"id": id, "name": "someone", "slug": "someone", "active": active, "type": "NORMAL", "emailAddress": "someone@example.org"}
}

func ofUser(id int, permission string) any {
	return map[string]any{"user": person(id, true), "permission": permission}
}

func ofGroup(name, permission string) any {
	return map[string]any{"group": map[string]any{"name": name}, "permission": permission}
}

// serveMembers grants the members of a world access in each of the four ways.
func serveMembers(base string, w *hosttest.MemberWorld) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := memberHost{key: "ACME", id: w.ID, lists: map[string][]any{
			"repos/vault/permissions/groups": {ofGroup("of the repository", "REPO_READ"), ofGroup("of other things", "OTHER")},
			"permissions/groups":             {ofGroup("of the project", "PROJECT_WRITE")},
			"of other things":                {person(1, true)},
		}}
		for i, id := range w.Members {
			switch i % 4 {
			case 0:
				h.lists["repos/vault/permissions/users"] = append(h.lists["repos/vault/permissions/users"], ofUser(id, "REPO_WRITE"))
			case 1:
				h.lists["permissions/users"] = append(h.lists["permissions/users"], ofUser(id, "PROJECT_READ"))
			case 2:
				h.lists["of the repository"] = append(h.lists["of the repository"], person(id, true))
			case 3:
				h.lists["of the project"] = append(h.lists["of the project"], person(id, true))
			}
		}
		h.serve(base).ServeHTTP(rw, r)
	})
}

func TestReadMembers(t *testing.T) {
	for _, path := range []string{"/permissions/users", "/vault/permissions/groups", "/more-members"} {
		t.Run(path, func(t *testing.T) {
			hosttest.RunMembers(t, hosttest.MemberSuite{
				Kind: code.BitbucketServer, Open: Open, Serve: serveMembers, Path: path,
				Host: func(h discovery.Host) string { return h.Name }, Name: "ACME/vault",
			})
		})
	}
}

// TestReadersAreThoseOfBitbucket covers the remaining cases: the owner of a personal
// project, users who may not sign in, large groups, and a group that is named twice.
func TestReadersAreThoseOfBitbucket(t *testing.T) {
	h := memberHost{key: "~SOMEONE", id: 7, lists: map[string][]any{
		"repos/vault/permissions/users":  {ofUser(9, "REPO_ADMIN"), map[string]any{"user": person(10, false), "permission": "REPO_READ"}},
		"repos/vault/permissions/groups": {ofGroup("g", "REPO_READ")},
		"permissions/groups":             {ofGroup("g", "PROJECT_ADMIN")},
	}}
	want := []string{"3", "9"}
	for i := range 150 {
		h.lists["g"] = append(h.lists["g"], person(1000+i, i%2 == 0))
		if i%2 == 0 {
			want = append(want, strconv.Itoa(1000+i))
		}
	}
	slices.Sort(want)
	server := hosttest.NewServer(t, false, h.serve)
	c := discovery.Connection{Name: "bb", Kind: code.BitbucketServer, URL: server.URL, Token: "s3cret"}
	reader, err := discovery.OpenMembers(map[code.HostKind]discovery.Open{code.BitbucketServer: Open}, c, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	host, err := discovery.ParseHost(c, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.ReadMembers(t.Context(), code.Repository{ID: code.NewRepositoryID(host.Name, "7"), DisplayName: "~SOMEONE/vault"})
	if err != nil || !slices.Equal(got.Users, want) {
		t.Errorf("users %v, %v, want %v", got.Users, err, want)
	}
	if all, _ := server.Requests(); all != 8 {
		t.Errorf("%d requests, want 8: a group is read once", all)
	}
}
