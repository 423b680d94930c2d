package bitbucketcloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://bitbucket.org"

// pageSize is the largest page that Bitbucket returns.
const pageSize = 100

// lister lists one connection.
type lister struct {
	c    discovery.Connection
	host discovery.Host
	api  hostapi.JSON
}

// repository is a repository in the API of Bitbucket.
type repository struct {
	UUID        string `json:"uuid"`
	FullName    string `json:"full_name"`
	Description string `json:"description"`
	Private     *bool  `json:"is_private"`
	Size        int64  `json:"size"`
	Project     struct {
		Key string `json:"key"`
	} `json:"project"`
	Parent *struct{} `json:"parent"` // the repository that this one is a fork of
	Links  struct {
		HTML   link `json:"html"`
		Avatar link `json:"avatar"`
	} `json:"links"`
	MainBranch struct {
		Name string `json:"name"`
	} `json:"mainbranch"`
}

type link struct {
	Href string `json:"href"`
}

// NewAPI returns the API client of a connection. With a user, it uses basic
// authentication, which API tokens of people require.
func NewAPI(c discovery.Connection, client *http.Client) (hostapi.JSON, discovery.Host, error) {
	host, err := discovery.ParseHost(c, DefaultURL)
	if err != nil {
		return hostapi.JSON{}, host, err
	}
	base, address := host.Base+"/2.0/", host.Address
	if address == "bitbucket.org" {
		base, address = "https://api.bitbucket.org/2.0/", "api.bitbucket.org"
	}
	authorization := ""
	switch {
	case c.Token != "" && c.User != "":
		authorization = hostapi.BasicAuthorization(c.User, c.Token)
	case c.Token != "":
		authorization = "Bearer " + c.Token
	}
	return hostapi.JSON{Base: base, Client: hostapi.AuthorizeWith(client, address, "Authorization", authorization)}, host, nil
}

// Open implements discovery.Open for Bitbucket Cloud.
func Open(c discovery.Connection, client *http.Client) (discovery.Lister, error) {
	api, host, err := NewAPI(c, client)
	if err != nil {
		return nil, err
	}
	return &lister{c: c, host: host, api: api}, nil
}

// List implements discovery.Lister.
func (b *lister) List(ctx context.Context, l *discovery.Listing) error {
	if !l.EachTarget(b.c.Targets.Workspaces, 1, "the name of a workspace", func(workspace string, _ []string) bool {
		return b.listPages(ctx, l, workspace, workspace, "")
	}) {
		return nil
	}
	for _, target := range b.c.Targets.Projects {
		parts, ok := discovery.SplitTarget(target, 2)
		if !ok || strings.ContainsAny(parts[1], `"\`) {
			if !l.Fail(target, discovery.NewTargetError("workspace/KEY")) {
				return nil
			}
		} else if !b.listPages(ctx, l, target, parts[0], `project.key="`+parts[1]+`"`) {
			return nil
		}
	}
	l.EachTarget(b.c.Targets.Repos, 2, "workspace/slug", func(name string, parts []string) bool { return b.addNamed(ctx, l, name, parts) })
	return nil
}

func (b *lister) listPages(ctx context.Context, l *discovery.Listing, target, workspace, condition string) bool {
	query := url.Values{"pagelen": {strconv.Itoa(pageSize)}, "sort": {"created_on"}}
	if condition != "" {
		query.Set("q", condition)
	}
	next := b.api.Base + "repositories/" + url.PathEscape(workspace) + "?" + query.Encode()
	for next != "" {
		var page struct {
			Values []repository `json:"values"`
			Next   string       `json:"next"`
		}
		if err := b.api.DoURL(ctx, http.MethodGet, next, nil, &page); err != nil {
			return l.Fail(target, err)
		}
		for i := range page.Values {
			if !l.Add(b.convertRepository(&page.Values[i])) {
				return false
			}
		}
		next = page.Next
	}
	return true
}

func (b *lister) addNamed(ctx context.Context, l *discovery.Listing, name string, parts []string) bool {
	var r repository
	if err := b.api.Get(ctx, "repositories/"+url.PathEscape(parts[0])+"/"+url.PathEscape(parts[1]), nil, &r); err != nil {
		return l.Fail(name, err)
	}
	return l.Add(b.convertRepository(&r))
}

// convertRepository describes a repository as ingest/bitbucketcloud does.
func (b *lister) convertRepository(r *repository) *discovery.Found {
	workspace, slug, ok := strings.Cut(r.FullName, "/")
	display := r.FullName
	if r.Project.Key != "" {
		display = workspace + "/" + r.Project.Key + "/" + slug
	}
	f := &discovery.Found{
		Repository: code.Repository{
			ID:            code.NewRepositoryID(b.host.Name, r.UUID),
			Kind:          code.BitbucketCloud,
			Name:          b.host.Name + "/" + display,
			DisplayName:   display,
			CloneURL:      b.host.Base + "/" + r.FullName + ".git",
			WebURL:        b.host.PageURL(r.Links.HTML.Href),
			ImageURL:      code.KeepImageURL(r.Links.Avatar.Href),
			Description:   code.KeepDescription(r.Description),
			DefaultBranch: r.MainBranch.Name,
			Fork:          r.Parent != nil,
			Private:       r.Private == nil || *r.Private,
		},
		Path: display, SizeBytes: r.Size,
	}
	if r.UUID == "" || !ok || strings.Contains(slug, "/") {
		f.Invalid = errors.New("it has no UUID or no full name")
		return f
	}
	if err := b.host.CheckCloneURL(f.CloneURL); err != nil {
		f.Invalid = fmt.Errorf("full_name: %w", err)
	}
	return f
}

// anyWorkspace stands for the workspace of a repository that is named by its UUID.
const anyWorkspace = "{}"

// ReadRepository implements discovery.RepositoryReader.
func (b *lister) ReadRepository(ctx context.Context, r discovery.HostRepository) (*discovery.Found, error) {
	var found repository
	if err := b.api.Get(ctx, "repositories/"+url.PathEscape(anyWorkspace)+"/"+url.PathEscape(r.Identity), nil, &found); err != nil {
		return nil, err
	}
	return b.convertRepository(&found), nil
}
