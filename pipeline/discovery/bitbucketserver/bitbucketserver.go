package bitbucketserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// pageSize is the number of repositories requested per page.
const pageSize = 100

// lister lists one connection.
type lister struct {
	c    discovery.Connection
	host discovery.Host
	api  hostapi.JSON
}

// repository is a repository in the API of Bitbucket.
type repository struct {
	ID          int64     `json:"id"`
	Slug        string    `json:"slug"`
	Description string    `json:"description"`
	Public      bool      `json:"public"`
	Archived    bool      `json:"archived"`
	Origin      *struct{} `json:"origin"` // the repository that this one is a fork of
	Project     struct {
		Key string `json:"key"`
	} `json:"project"`
	Links struct {
		Clone []struct {
			Href string `json:"href"`
			Name string `json:"name"`
		} `json:"clone"`
	} `json:"links"`
}

// NewAPI returns the API client of a connection. With a user, it uses basic
// authentication.
func NewAPI(c discovery.Connection, client *http.Client) (hostapi.JSON, discovery.Host, error) {
	host, err := discovery.ParseHost(c, "")
	if err != nil {
		return hostapi.JSON{}, host, err
	}
	authorization := ""
	switch {
	case c.Token != "" && c.User != "":
		authorization = hostapi.BasicAuthorization(c.User, c.Token)
	case c.Token != "":
		authorization = "Bearer " + c.Token
	}
	return hostapi.JSON{Base: host.Base + "/rest/api/1.0/", Client: hostapi.AuthorizeWith(client, host.Address, "Authorization", authorization)}, host, nil
}

// Open implements discovery.Open for Bitbucket Server.
func Open(c discovery.Connection, client *http.Client) (discovery.Lister, error) {
	api, host, err := NewAPI(c, client)
	if err != nil {
		return nil, err
	}
	return &lister{c: c, host: host, api: api}, nil
}

// List implements discovery.Lister.
func (b *lister) List(ctx context.Context, l *discovery.Listing) error {
	if b.c.Targets.All && !b.listPages(ctx, l, "all", "repos") {
		return nil
	}
	if !l.EachTarget(b.c.Targets.Projects, 1, "the key of a project", func(key string, _ []string) bool {
		return b.listPages(ctx, l, key, "projects/"+url.PathEscape(key)+"/repos")
	}) {
		return nil
	}
	l.EachTarget(b.c.Targets.Repos, 2, "KEY/slug", func(name string, parts []string) bool { return b.addNamed(ctx, l, name, parts) })
	return nil
}

func (b *lister) listPages(ctx context.Context, l *discovery.Listing, target, path string) bool {
	full := false
	err := eachPage(ctx, b, path, nil, func(r *repository) bool {
		full = !l.Add(b.convertRepository(r))
		return !full
	})
	if err != nil {
		return l.Fail(target, err)
	}
	return !full
}

// eachPage calls do with each value of a list, until it returns false.
func eachPage[T any](ctx context.Context, b *lister, path string, query url.Values, do func(*T) bool) error {
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", strconv.Itoa(pageSize))
	for start := 0; ; {
		query.Set("start", strconv.Itoa(start))
		var page struct {
			Values   []T  `json:"values"`
			IsLast   bool `json:"isLastPage"`
			NextPage int  `json:"nextPageStart"`
		}
		if err := b.api.Get(ctx, path, query, &page); err != nil {
			return err
		}
		for i := range page.Values {
			if !do(&page.Values[i]) {
				return nil
			}
		}
		if page.IsLast {
			return nil
		}
		if page.NextPage <= start {
			return hostapi.NewError(hostapi.HostFailed, fmt.Sprintf("the page at %d is not the last one and names no next one", start))
		}
		start = page.NextPage
	}
}

func (b *lister) addNamed(ctx context.Context, l *discovery.Listing, name string, parts []string) bool {
	var r repository
	if err := b.api.Get(ctx, "projects/"+url.PathEscape(parts[0])+"/repos/"+url.PathEscape(parts[1]), nil, &r); err != nil {
		return l.Fail(name, err)
	}
	return l.Add(b.convertRepository(&r))
}

// convertRepository describes a repository as ingest/bitbucketserver does.
func (b *lister) convertRepository(r *repository) *discovery.Found {
	display := r.Project.Key + "/" + r.Slug
	f := &discovery.Found{
		Repository: code.Repository{
			ID:          code.NewRepositoryID(b.host.Name, strconv.FormatInt(r.ID, 10)),
			Kind:        code.BitbucketServer,
			Name:        b.host.Name + "/" + display,
			DisplayName: display,
			CloneURL:    b.cloneURL(r),
			WebURL:      b.webURL(r),
			Description: code.KeepDescription(r.Description),
			Fork:        r.Origin != nil,
			Archived:    r.Archived,
			Private:     !r.Public,
		},
		Path: display, UserOwned: strings.HasPrefix(r.Project.Key, "~"),
	}
	if r.ID <= 0 || r.Slug == "" || r.Project.Key == "" {
		f.Invalid = errors.New("it has no ID, no slug or no project")
		return f
	}
	if err := b.host.CheckCloneURL(f.CloneURL); err != nil {
		f.Invalid = fmt.Errorf("links.clone: %w", err)
	}
	return f
}

// cloneURL returns the HTTP clone link. Servers before 5.8 send none; the URL is then
// derived from the project.
func (b *lister) cloneURL(r *repository) string {
	for _, link := range r.Links.Clone {
		if link.Name == "http" || link.Name == "https" {
			return withoutUser(link.Href)
		}
	}
	return b.host.Base + "/scm/" + strings.ToLower(r.Project.Key) + "/" + r.Slug + ".git"
}

// withoutUser removes the name of the caller, which old servers include in links.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = nil
	return u.String()
}

// webURL returns the page of a repository of a project, or of a user, whose key begins
// with ~.
func (b *lister) webURL(r *repository) string {
	if user, personal := strings.CutPrefix(r.Project.Key, "~"); personal {
		return b.host.Base + "/users/" + strings.ToLower(user) + "/repos/" + r.Slug
	}
	return b.host.Base + "/projects/" + r.Project.Key + "/repos/" + r.Slug
}

// ReadRepository implements discovery.RepositoryReader. The API finds repositories by
// name only, so it tries the names that the repository may have, and compares the ID.
func (b *lister) ReadRepository(ctx context.Context, r discovery.HostRepository) (*discovery.Found, error) {
	for _, path := range r.Paths {
		parts, ok := discovery.SplitTarget(path, 2)
		if !ok {
			continue
		}
		var found repository
		err := b.api.Get(ctx, "projects/"+url.PathEscape(parts[0])+"/repos/"+url.PathEscape(parts[1]), nil, &found)
		if err != nil && hostapi.CodeOf(err) != hostapi.NotFound {
			return nil, err
		}
		if err == nil && strconv.FormatInt(found.ID, 10) == r.Identity {
			return b.convertRepository(&found), nil
		}
	}
	return nil, hostapi.NewError(hostapi.NotFound, "no repository of these names has the ID")
}
