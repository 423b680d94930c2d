package bitbucketcloud

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

const vaultUUID = "{470c176d-3574-44ea-bb41-000000000007}"

// serveMembers serves the permissions part of Bitbucket's API according to its
// documentation. first is listed before the members.
func serveMembers(first ...any) func(string, *hosttest.MemberWorld) http.Handler {
	return func(base string, w *hosttest.MemberWorld) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /2.0/repositories/acme/vault", func(rw http.ResponseWriter, _ *http.Request) {
			hosttest.WriteJSON(rw, http.StatusOK, describe(base, hosttest.Repo{ID: w.ID, Owner: "acme", Name: "vault", Private: true}))
		})
		mux.HandleFunc("GET /2.0/workspaces/acme/permissions/repositories/{uuid}", func(rw http.ResponseWriter, r *http.Request) {
			if r.PathValue("uuid") != vaultUUID {
				hosttest.WriteNotFound(rw)
				return
			}
			listed := slices.Clone(first)
			for _, id := range w.Members {
				listed = append(listed, entry("user", strconv.Itoa(id), "read"))
			}
			q := r.URL.Query()
			number, _ := strconv.Atoi(q.Get("page")) // 0 for the first page
			values := []any{}
			for _, x := range hosttest.Page(rw, r, "", "pagelen", 100, hosttest.Repos("acme", len(listed))) {
				values = append(values, listed[x.ID-1])
			}
			out := map[string]any{"pagelen": 100, "size": len(listed), "values": values}
			if number = max(1, number); number*100 < len(listed) {
				q.Set("page", strconv.Itoa(number+1))
				out["next"] = "http://" + r.Host + r.URL.Path + "?" + q.Encode()
			}
			hosttest.WriteJSON(rw, http.StatusOK, out)
		})
		return mux
	}
}

func entry(kind, account, permission string) map[string]any {
	return map[string]any{
		"type": "repository_permission", "permission": permission, "repository": map[string]any{"full_name": "acme/vault"},
		"user": map[string]any{"type": kind, "account_id": account, "nickname": "someone", "uuid": fmt.Sprintf("{%s}", account)},
	}
}

func TestReadMembers(t *testing.T) {
	hosttest.RunMembers(t, hosttest.MemberSuite{
		Kind: code.BitbucketCloud, Open: Open, Serve: serveMembers(entry("team", "1", "admin"), entry("user", "2", "none")), Path: "/permissions",
		Host: func(h discovery.Host) string { return h.Name }, ID: vaultUUID,
	})
}

// TestReadMembersOfProjects reads a repository whose name includes the key of its
// project, and users with account IDs in Atlassian's formats; a user without one fails
// the reading.
func TestReadMembersOfProjects(t *testing.T) {
	const accountID = "712020:ba8948b2-49da-43a9-9e8b-e7249b8e324a"
	for _, c := range []struct {
		id    string
		whole bool
	}{{accountID, true}, {"", false}} {
		server := hosttest.NewServer(t, false, func(base string) http.Handler {
			return serveMembers(entry("user", c.id, "write"))(base, &hosttest.MemberWorld{ID: 7})
		})
		connection := discovery.Connection{Name: "cloud", Kind: code.BitbucketCloud, URL: server.URL, Token: "s3cret"}
		reader, err := discovery.OpenMembers(map[code.HostKind]discovery.Open{code.BitbucketCloud: Open}, connection, server.Client())
		if err != nil {
			t.Fatal(err)
		}
		host, err := discovery.ParseHost(connection, DefaultURL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := reader.ReadMembers(t.Context(), code.Repository{ID: code.NewRepositoryID(host.Name, vaultUUID), DisplayName: "acme/AC/vault"})
		if (err == nil) != c.whole || c.whole && !slices.Equal(got.Users, []string{account.ShortenHostUser(accountID)}) {
			t.Errorf("account %q: %v, %v, want whole %t", c.id, got.Users, err, c.whole)
		}
	}
}
