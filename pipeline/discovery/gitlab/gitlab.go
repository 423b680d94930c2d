package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://gitlab.com"

// pageSize is the largest page that GitLab returns.
const pageSize = 100

// lister lists one connection.
type lister struct {
	c    discovery.Connection
	host discovery.Host
	api  hostapi.JSON
	// addresses caches the email addresses of users, by ID; see ReadMembers.
	addresses map[int64]address
}

// project is a project in the API of GitLab.
type project struct {
	ID            int64    `json:"id"`
	Path          string   `json:"path_with_namespace"`
	HTTPURL       string   `json:"http_url_to_repo"`
	WebURL        string   `json:"web_url"`
	AvatarURL     string   `json:"avatar_url"`
	Description   string   `json:"description"`
	DefaultBranch string   `json:"default_branch"`
	Visibility    string   `json:"visibility"`
	Archived      bool     `json:"archived"`
	Topics        []string `json:"topics"`
	Access        string   `json:"repository_access_level"`
	ForkedFrom    *struct {
		ID int64 `json:"id"`
	} `json:"forked_from_project"`
	Namespace struct {
		Kind string `json:"kind"`
	} `json:"namespace"`
}

// NewAPI returns the API client of a connection.
func NewAPI(c discovery.Connection, client *http.Client) (hostapi.JSON, discovery.Host, error) {
	host, err := discovery.ParseHost(c, DefaultURL)
	if err != nil {
		return hostapi.JSON{}, host, err
	}
	return hostapi.JSON{Base: host.Base + "/api/v4/", Client: hostapi.AuthorizeWith(client, host.Address, "Private-Token", c.Token)}, host, nil
}

// Open implements discovery.Open for GitLab.
func Open(c discovery.Connection, client *http.Client) (discovery.Lister, error) {
	api, host, err := NewAPI(c, client)
	if err != nil {
		return nil, err
	}
	return &lister{c: c, host: host, api: api}, nil
}

// List implements discovery.Lister.
func (g *lister) List(ctx context.Context, l *discovery.Listing) error {
	if g.c.Targets.All && !g.listAll(ctx, l) {
		return nil
	}
	for _, group := range g.c.Targets.Groups {
		if !g.listPages(ctx, l, group, "groups/"+url.PathEscape(group)+"/projects", url.Values{"include_subgroups": {"true"}, "with_shared": {"false"}}) {
			return nil
		}
	}
	if !l.EachTarget(g.c.Targets.Users, 1, "the name of a user", func(user string, _ []string) bool {
		return g.listPages(ctx, l, user, "users/"+url.PathEscape(user)+"/projects", url.Values{})
	}) {
		return nil
	}
	for _, path := range g.c.Targets.Projects {
		if !g.addNamed(ctx, l, path) {
			return nil
		}
	}
	return nil
}

// listAll uses keyset pagination, because GitLab refuses page numbers beyond 50,000
// projects.
func (g *lister) listAll(ctx context.Context, l *discovery.Listing) bool {
	query := url.Values{"pagination": {"keyset"}, "order_by": {"id"}, "sort": {"asc"}, "per_page": {strconv.Itoa(pageSize)}}
	if g.host.Address == "gitlab.com" {
		query.Set("membership", "true")
	}
	for {
		var page []project
		if err := g.api.Get(ctx, "projects", query, &page); err != nil {
			return l.Fail("all", err)
		}
		if !g.addPage(l, page) {
			return false
		}
		if len(page) == 0 {
			return true
		}
		query.Set("id_after", strconv.FormatInt(page[len(page)-1].ID, 10))
	}
}

func (g *lister) listPages(ctx context.Context, l *discovery.Listing, target, path string, query url.Values) bool {
	query.Set("order_by", "id")
	query.Set("sort", "asc")
	query.Set("per_page", strconv.Itoa(pageSize))
	for number := 1; ; number++ {
		query.Set("page", strconv.Itoa(number))
		var page []project
		if err := g.api.Get(ctx, path, query, &page); err != nil {
			return l.Fail(target, err)
		}
		if !g.addPage(l, page) {
			return false
		}
		if len(page) < pageSize {
			return true
		}
	}
}

func (g *lister) addPage(l *discovery.Listing, page []project) bool {
	for i := range page {
		if page[i].Access != "disabled" && !l.Add(g.convertProject(&page[i])) {
			return false
		}
	}
	return true
}

func (g *lister) addNamed(ctx context.Context, l *discovery.Listing, path string) bool {
	var p project
	if err := g.api.Get(ctx, "projects/"+url.PathEscape(path), nil, &p); err != nil {
		return l.Fail(path, err)
	}
	return g.addPage(l, []project{p})
}

// convertProject describes a project as ingest/gitlab does.
func (g *lister) convertProject(p *project) *discovery.Found {
	f := &discovery.Found{
		Repository: code.Repository{
			ID:            code.NewRepositoryID(g.host.Name, strconv.FormatInt(p.ID, 10)),
			Kind:          code.GitLab,
			Name:          g.host.Name + "/" + p.Path,
			DisplayName:   p.Path,
			CloneURL:      p.HTTPURL,
			WebURL:        code.ResolvePageURL(g.c.WebURL, p.Path, g.host.PageURL(p.WebURL)),
			ImageURL:      code.KeepImageURL(p.AvatarURL),
			Description:   code.KeepDescription(p.Description),
			DefaultBranch: p.DefaultBranch,
			Fork:          p.ForkedFrom != nil,
			Archived:      p.Archived,
			Private:       p.Visibility != "public",
		},
		Path: p.Path, Topics: p.Topics, UserOwned: p.Namespace.Kind == "user",
	}
	if p.ID <= 0 || p.Path == "" {
		f.Invalid = errors.New("it has no ID or no path")
		return f
	}
	if err := g.host.CheckCloneURL(p.HTTPURL); err != nil {
		f.Invalid = fmt.Errorf("http_url_to_repo: %w", err)
	}
	return f
}

// ReadRepository implements discovery.RepositoryReader.
func (g *lister) ReadRepository(ctx context.Context, r discovery.HostRepository) (*discovery.Found, error) {
	var p project
	if err := g.api.Get(ctx, "projects/"+url.PathEscape(r.Identity), nil, &p); err != nil {
		return nil, err
	}
	if p.Access == "disabled" {
		return nil, hostapi.NewError(hostapi.NotFound, "the repository of the project is disabled")
	}
	return g.convertProject(&p), nil
}
