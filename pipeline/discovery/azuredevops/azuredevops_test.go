package azuredevops

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serve serves the REST API of Azure DevOps according to its documentation. Owners are
// organizations; each has one project, Team One.
func serve(base string, repos []hosttest.Repo) http.Handler {
	mux := http.NewServeMux()
	of := func(w http.ResponseWriter, owner string) []hosttest.Repo {
		mine := slices.DeleteFunc(slices.Clone(repos), func(x hosttest.Repo) bool { return x.Owner != owner })
		if len(mine) == 0 {
			hosttest.WriteJSON(w, http.StatusNotFound, map[string]any{"$id": "1", "message": "TF400813: Resource not available.", "typeKey": "ResourceNotAvailableException"})
		}
		return mine
	}
	list := func(w http.ResponseWriter, r *http.Request) {
		if mine := of(w, r.PathValue("org")); len(mine) > 0 {
			value := []any{}
			for _, x := range mine {
				value = append(value, describe(base, x))
			}
			hosttest.WriteJSON(w, http.StatusOK, map[string]any{"value": value, "count": len(value)})
		}
	}
	mux.HandleFunc("GET /{org}/_apis/git/repositories", list)
	mux.HandleFunc("GET /{org}/Team One/_apis/git/repositories", list)
	mux.HandleFunc("GET /{org}/Team One/_apis/git/repositories/{name}", func(w http.ResponseWriter, r *http.Request) {
		mine := of(w, r.PathValue("org"))
		if i := slices.IndexFunc(mine, func(x hosttest.Repo) bool { return x.Name == r.PathValue("name") }); i >= 0 {
			hosttest.WriteJSON(w, http.StatusOK, describe(base, mine[i]))
		}
	})
	return mux
}

func describe(base string, x hosttest.Repo) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("5febef5a-833d-4e14-b9c0-%012d", x.ID), "name": x.Name, "url": base + "/" + x.Owner + "/_apis/git/repositories/5febef5a",
		"project": map[string]any{"id": "6ce954b1", "name": "Team One", "state": "wellFormed", "visibility": "private"}, "defaultBranch": "refs/heads/" + x.Branch,
		"size": 728, "isDisabled": x.Archived, "isFork": x.Fork,
		"remoteUrl": strings.Replace(base, "://", "://"+x.Owner+"@", 1) + "/" + x.Owner + "/Team%20One/_git/" + x.Name,
		"sshUrl":    "git@ssh.dev.azure.com:v3/" + x.Owner + "/Team%20One/" + x.Name, "webUrl": base + "/" + x.Owner + "/Team%20One/_git/" + x.Name,
	}
}

func TestContract(t *testing.T) {
	hosttest.Run(t, hosttest.Suite{
		Kind: code.AzureDevOps, Open: Open, Serve: serve,
		Targets:     discovery.Targets{Orgs: []string{"acme"}, Projects: []string{"acme/Team One"}, Repos: []string{"acme/Team One/repo-00001"}},
		Unknown:     discovery.Targets{Orgs: []string{"nobody", "acme"}},
		UnknownName: "nobody",
		Misspelled:  &discovery.Targets{Repos: []string{"acme/Team One"}},
		DisplayName: func(r hosttest.Repo) string { return "Team One/" + r.Name },
		Header:      "Authorization", HeaderValue: hostapi.BasicAuthorization("ann", "s3cret"),
	})
}

// TestURLWithOrganization lists a connection whose url ends with the organization.
func TestURLWithOrganization(t *testing.T) {
	server := hosttest.NewServer(t, false, func(base string) http.Handler { return serve(base, hosttest.Repos("acme", 2)) })
	c := discovery.Connection{Name: "c", Kind: code.AzureDevOps, URL: server.URL + "/acme", Targets: discovery.Targets{Orgs: []string{"acme"}}}
	got := hosttest.ListAll(t, Open, c, hostapi.NewTransport(hostapi.Options{}).Client())
	if len(got.Found) != 2 || !got.Complete || !strings.HasSuffix(got.Found[0].Name, "/acme/Team One/repo-00001") {
		t.Errorf("found %+v, issues %v", got.Found, got.Issues)
	}
}
