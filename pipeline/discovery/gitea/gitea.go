package gitea

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
const DefaultURL = "https://gitea.com"

// pageSize is the largest page that Gitea returns by default.
const pageSize = 50

// lister lists one connection.
type lister struct {
	c    discovery.Connection
	host discovery.Host
	api  hostapi.JSON
}

// repository is a repository in the API of Gitea.
type repository struct {
	ID            int64    `json:"id"`
	FullName      string   `json:"full_name"`
	CloneURL      string   `json:"clone_url"`
	HTMLURL       string   `json:"html_url"`
	AvatarURL     string   `json:"avatar_url"`
	Description   string   `json:"description"`
	DefaultBranch string   `json:"default_branch"`
	Fork          bool     `json:"fork"`
	Archived      bool     `json:"archived"`
	Private       *bool    `json:"private"`
	Internal      bool     `json:"internal"`
	HasCode       *bool    `json:"has_code"` // absent in old versions
	SizeKiB       int64    `json:"size"`
	Topics        []string `json:"topics"`
	Owner         struct {
		ID         int64  `json:"id"`
		Visibility string `json:"visibility"`
	} `json:"owner"`
}

// isPrivate reports whether some users may not read the repository. A repository that is
// not private may still belong to an owner visible only to signed-in users or members.
func (r *repository) isPrivate() bool {
	return r.Private == nil || *r.Private || r.Internal || r.Owner.Visibility == "limited" || r.Owner.Visibility == "private"
}

// NewAPI returns the API client of a connection.
func NewAPI(c discovery.Connection, client *http.Client) (hostapi.JSON, discovery.Host, error) {
	host, err := discovery.ParseHost(c, DefaultURL)
	if err != nil {
		return hostapi.JSON{}, host, err
	}
	authorization := ""
	if c.Token != "" {
		authorization = "token " + c.Token
	}
	return hostapi.JSON{Base: host.Base + "/api/v1/", Client: hostapi.AuthorizeWith(client, host.Address, "Authorization", authorization)}, host, nil
}

// Open implements discovery.Open for Gitea.
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
	for _, kind := range []struct {
		path  string
		names []string
	}{{"orgs", g.c.Targets.Orgs}, {"users", g.c.Targets.Users}} {
		if !l.EachTarget(kind.names, 1, "the name of a user or an organization", func(name string, _ []string) bool {
			return g.listPages(ctx, l, name, kind.path+"/"+url.PathEscape(name)+"/repos")
		}) {
			return nil
		}
	}
	l.EachTarget(g.c.Targets.Repos, 2, "owner/name", func(name string, parts []string) bool { return g.addNamed(ctx, l, name, parts) })
	return nil
}

// listPages reads the pages of a plain list.
func (g *lister) listPages(ctx context.Context, l *discovery.Listing, target, path string) bool {
	return g.listNumbered(l, target, func(query url.Values) (page []repository, err error) {
		return page, g.api.Get(ctx, path, query, &page)
	})
}

func (g *lister) listAll(ctx context.Context, l *discovery.Listing) bool {
	return g.listNumbered(l, "all", func(query url.Values) ([]repository, error) {
		query.Set("sort", "id")
		query.Set("order", "asc")
		var answer struct {
			Data []repository `json:"data"`
		}
		err := g.api.Get(ctx, "repos/search", query, &answer)
		return answer.Data, err
	})
}

func (g *lister) listNumbered(l *discovery.Listing, target string, get func(query url.Values) ([]repository, error)) bool {
	for number := 1; ; number++ {
		page, err := get(url.Values{"page": {strconv.Itoa(number)}, "limit": {strconv.Itoa(pageSize)}})
		if err != nil {
			return l.Fail(target, err)
		}
		for i := range page {
			if !l.Add(g.convertRepository(&page[i])) {
				return false
			}
		}
		if len(page) == 0 {
			return true
		}
	}
}

func (g *lister) addNamed(ctx context.Context, l *discovery.Listing, name string, parts []string) bool {
	var r repository
	if err := g.api.Get(ctx, "repos/"+url.PathEscape(parts[0])+"/"+url.PathEscape(parts[1]), nil, &r); err != nil {
		return l.Fail(name, err)
	}
	return l.Add(g.convertRepository(&r))
}

// convertRepository describes a repository as ingest/gitea does.
func (g *lister) convertRepository(r *repository) *discovery.Found {
	f := &discovery.Found{
		Repository: code.Repository{
			ID:            code.NewRepositoryID(g.host.Name, strconv.FormatInt(r.ID, 10)),
			Kind:          code.Gitea,
			Name:          g.host.Name + "/" + r.FullName,
			DisplayName:   r.FullName,
			CloneURL:      r.CloneURL,
			WebURL:        g.host.PageURL(r.HTMLURL),
			ImageURL:      code.KeepImageURL(r.AvatarURL),
			Description:   code.KeepDescription(r.Description),
			DefaultBranch: r.DefaultBranch,
			Fork:          r.Fork,
			Archived:      r.Archived,
			Private:       r.isPrivate(),
		},
		Path: r.FullName, Topics: r.Topics, SizeBytes: r.SizeKiB << 10,
	}
	if r.ID <= 0 || r.FullName == "" {
		f.Invalid = errors.New("it has no ID or no name")
		return f
	}
	if err := g.host.CheckCloneURL(r.CloneURL); err != nil {
		f.Invalid = fmt.Errorf("clone_url: %w", err)
	}
	return f
}

// ReadRepository implements discovery.RepositoryReader.
func (g *lister) ReadRepository(ctx context.Context, r discovery.HostRepository) (*discovery.Found, error) {
	var found repository
	if err := g.api.Get(ctx, "repositories/"+url.PathEscape(r.Identity), nil, &found); err != nil {
		return nil, err
	}
	return g.convertRepository(&found), nil
}
