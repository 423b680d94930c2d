package azuredevops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://dev.azure.com"

// APIVersion is the version that Azure DevOps Server 2022 and the service support.
const APIVersion = "7.0"

// lister lists one connection.
type lister struct {
	c    discovery.Connection
	host discovery.Host
	api  hostapi.JSON
}

// repository is a repository in the API of Azure DevOps.
type repository struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	RemoteURL     string `json:"remoteUrl"`
	DefaultBranch string `json:"defaultBranch"`
	Fork          bool   `json:"isFork"`
	Disabled      bool   `json:"isDisabled"`
	Size          int64  `json:"size"`
	Project       struct {
		Name       string `json:"name"`
		Visibility string `json:"visibility"`
	} `json:"project"`
}

// NewAPI returns the API client of a connection. A personal access token is sent as the
// password of any user.
func NewAPI(c discovery.Connection, client *http.Client) (hostapi.JSON, discovery.Host, error) {
	host, err := discovery.ParseHost(c, DefaultURL)
	if err != nil {
		return hostapi.JSON{}, host, err
	}
	authorization := ""
	if c.Token != "" {
		authorization = hostapi.BasicAuthorization(c.User, c.Token)
	}
	return hostapi.JSON{Base: host.Base + "/", Client: hostapi.AuthorizeWith(client, host.Address, "Authorization", authorization)}, host, nil
}

// Open implements discovery.Open for Azure DevOps.
func Open(c discovery.Connection, client *http.Client) (discovery.Lister, error) {
	api, host, err := NewAPI(c, client)
	if err != nil {
		return nil, err
	}
	return &lister{c: c, host: host, api: api}, nil
}

// List implements discovery.Lister.
func (a *lister) List(ctx context.Context, l *discovery.Listing) error {
	for _, kind := range []struct {
		targets []string
		parts   int
		want    string
	}{
		{a.c.Targets.Orgs, 1, "the name of an organization"},
		{a.c.Targets.Projects, 2, "organization/project"},
		{a.c.Targets.Repos, 3, "organization/project/name"},
	} {
		if !l.EachTarget(kind.targets, kind.parts, kind.want, func(target string, parts []string) bool { return a.listTarget(ctx, l, target, parts) }) {
			return nil
		}
	}
	return nil
}

// listTarget lists an organization, a project or one repository.
func (a *lister) listTarget(ctx context.Context, l *discovery.Listing, target string, parts []string) bool {
	path := OrganizationPath(a.host, parts[0])
	if len(parts) > 1 {
		path += url.PathEscape(parts[1]) + "/"
	}
	path += "_apis/git/repositories"
	query := url.Values{"api-version": {APIVersion}}
	var answer struct {
		Value []repository `json:"value"`
	}
	var err error
	if len(parts) == 3 {
		answer.Value = make([]repository, 1)
		err = a.api.Get(ctx, path+"/"+url.PathEscape(parts[2]), query, &answer.Value[0])
	} else {
		err = a.api.Get(ctx, path, query, &answer)
	}
	if err != nil {
		return l.Fail(target, err)
	}
	for i := range answer.Value {
		if !l.Add(a.convertRepository(&answer.Value[i])) {
			return false
		}
	}
	return true
}

// OrganizationPath returns the path of an organization below the base URL of a host, with
// a trailing slash, or an empty string if the base URL ends with the organization.
func OrganizationPath(h discovery.Host, organization string) string {
	if strings.HasSuffix(strings.ToLower(h.Base), "/"+strings.ToLower(url.PathEscape(organization))) {
		return ""
	}
	return url.PathEscape(organization) + "/"
}

// convertRepository describes a repository as ingest/azuredevops does.
func (a *lister) convertRepository(r *repository) *discovery.Found {
	display, clone := r.Project.Name+"/"+r.Name, withoutUser(r.RemoteURL)
	f := &discovery.Found{
		Repository: code.Repository{
			ID:            code.NewRepositoryID(a.host.Name, r.ID),
			Kind:          code.AzureDevOps,
			Name:          a.host.Name + "/" + display,
			DisplayName:   display,
			CloneURL:      clone,
			WebURL:        a.host.PageURL(clone),
			DefaultBranch: strings.TrimPrefix(r.DefaultBranch, "refs/heads/"),
			Fork:          r.Fork,
			Archived:      r.Disabled,
			Private:       r.Project.Visibility != "public",
		},
		Path: display, SizeBytes: r.Size, Disabled: r.Disabled,
	}
	if r.ID == "" || r.Name == "" || r.Project.Name == "" {
		f.Invalid = errors.New("it has no ID, no name or no project")
		return f
	}
	if err := a.host.CheckCloneURL(clone); err != nil {
		f.Invalid = fmt.Errorf("remoteUrl: %w", err)
	}
	return f
}

// withoutUser removes the organization name that clone URLs of the service contain in
// place of a user.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}

// ReadRepository implements discovery.RepositoryReader. It takes the organization from the
// clone URL, unless the base URL ends with it.
func (a *lister) ReadRepository(ctx context.Context, r discovery.HostRepository) (*discovery.Found, error) {
	below, ok := strings.CutPrefix(withoutUser(r.CloneURL), a.host.Base+"/")
	above, _, isGit := strings.Cut(below, "_git/")
	if !ok || !isGit {
		return nil, hostapi.NewError(hostapi.Rejected, fmt.Sprintf("%.80q is no clone URL of the host", r.CloneURL))
	}
	path := "" // organization/project/ or, if both have the same name or the base URL has the first, one of them
	if organization, project, _ := strings.Cut(above, "/"); project != "" || !a.baseHasOrganization() {
		path = organization + "/"
	}
	var found repository
	if err := a.api.Get(ctx, path+"_apis/git/repositories/"+url.PathEscape(r.Identity), url.Values{"api-version": {APIVersion}}, &found); err != nil {
		return nil, err
	}
	return a.convertRepository(&found), nil
}

// baseHasOrganization reports whether the base URL ends with the organization of the
// targets.
func (a *lister) baseHasOrganization() bool {
	for _, target := range slices.Concat(a.c.Targets.Orgs, a.c.Targets.Projects, a.c.Targets.Repos) {
		organization, _, _ := strings.Cut(target, "/")
		return OrganizationPath(a.host, organization) == ""
	}
	return a.host.Address == "dev.azure.com" && a.host.Name != a.host.Address
}
