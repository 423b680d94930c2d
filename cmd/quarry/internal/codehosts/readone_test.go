package codehosts

import (
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// hostTargets select the repositories of the owner acme.
var hostTargets = map[code.HostKind]discovery.Targets{
	code.GitHub: {Orgs: []string{"acme"}}, code.GitLab: {Groups: []string{"acme"}}, code.Gitea: {Orgs: []string{"acme"}}, code.Gerrit: {All: true},
	code.BitbucketServer: {Projects: []string{"ACME"}}, code.BitbucketCloud: {Workspaces: []string{"acme"}}, code.AzureDevOps: {Orgs: []string{"acme"}},
}

// TestReadRepository checks for each kind of host that reading one repository agrees with
// the listing, finds it after a rename, and does not find one that is deleted or hidden.
func TestReadRepository(t *testing.T) {
	for kind, targets := range hostTargets {
		t.Run(string(kind), func(t *testing.T) {
			host := &hosttest.Host{Token: "s3cret"}
			server := hosttest.NewServer(t, false, host.Handler)
			vault := hosttest.Repo{ID: 7, Owner: "acme", Name: "vault", Private: true, Branch: "trunk"}
			host.Put(vault)
			c := discovery.Connection{Name: "hub", Kind: kind, URL: server.URL, User: "ann", Token: "s3cret", Targets: targets}
			open := func(c discovery.Connection) discovery.RepositoryReader {
				lister, err := Listers()[kind](c, hostapi.NewTransport(hostapi.Options{Attempts: 1}).Client())
				if err != nil {
					t.Fatal(err)
				}
				return lister.(discovery.RepositoryReader)
			}
			listed := hosttest.ListAll(t, Listers()[kind], c, hostapi.NewTransport(hostapi.Options{}).Client())
			if len(listed.Found) != 1 || !listed.Complete {
				t.Fatalf("listed %v, %v", listed.Found, listed.Issues)
			}
			first := listed.Found[0]
			at := discovery.HostRepository{Identity: hosttest.Identity(kind, vault), Paths: []string{"ACME/nonsense", first.DisplayName}, CloneURL: first.CloneURL}
			read, err := open(c).ReadRepository(t.Context(), at)
			if err != nil || read.ID != first.ID || read.Name != first.Name || read.CloneURL != first.CloneURL || !read.Private || read.Invalid != nil {
				t.Fatalf("read %+v, %v, listed %+v", read, err, first)
			}
			if kind == code.Gerrit && read.DefaultBranch != "trunk" {
				t.Errorf("default branch %q", read.DefaultBranch)
			}
			if kind != code.Gerrit { // its projects keep their names
				vault.Name = "safe"
				host.Put(vault)
				at.Paths = append(at.Paths, strings.Replace(first.DisplayName, "vault", "safe", 1))
				if read, err = open(c).ReadRepository(t.Context(), at); err != nil || read.ID != first.ID || !strings.Contains(read.CloneURL, "safe") {
					t.Errorf("after a rename: %+v, %v", read, err)
				}
			}
			hidden := c
			hidden.Token = "other"
			if read, err = open(hidden).ReadRepository(t.Context(), at); hostapi.CodeOf(err) != hostapi.NotFound {
				t.Errorf("with another token: %+v, %v", read, err)
			}
			host.Delete(7)
			if read, err = open(c).ReadRepository(t.Context(), at); hostapi.CodeOf(err) != hostapi.NotFound {
				t.Errorf("after it was deleted: %+v, %v", read, err)
			}
			host.Put(hosttest.Repo{ID: 8, Owner: "acme", Name: vault.Name, Branch: "main"}) // the name is reused
			if kind != code.Gerrit {
				if read, err = open(c).ReadRepository(t.Context(), at); hostapi.CodeOf(err) != hostapi.NotFound {
					t.Errorf("after its name was reused: %+v, %v", read, err)
				}
			}
			server.SetFault("", hosttest.Failing)
			if _, err = open(c).ReadRepository(t.Context(), at); hostapi.CodeOf(err) != hostapi.HostFailed {
				t.Errorf("while the host fails: %v", err)
			}
		})
	}
}
