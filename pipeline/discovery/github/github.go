package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://github.com"

// pageSize is the largest page that GitHub returns.
const pageSize = 100

// lister lists one connection.
type lister struct {
	c      discovery.Connection
	host   discovery.Host
	client *github.Client
}

// APIURL returns the base URL of the REST API of a host, with a trailing slash.
func APIURL(h discovery.Host) string {
	if h.Address == "github.com" {
		return "https://api.github.com/"
	}
	return h.Base + "/api/v3/"
}

// Open implements discovery.Open for GitHub.
func Open(c discovery.Connection, client *http.Client) (discovery.Lister, error) {
	host, err := discovery.ParseHost(c, DefaultURL)
	if err != nil {
		return nil, err
	}
	if client, err = AuthorizeClient(c, host, client); err != nil {
		return nil, err
	}
	base := APIURL(host)
	// The transport below respects the rate limits; the library would refuse requests
	// instead.
	api, err := github.NewClient(github.WithHTTPClient(client), github.WithURLs(&base, &base), github.WithDisableRateLimitCheck(), github.WithUserAgent("quarry"))
	if err != nil {
		return nil, fmt.Errorf("connection %s: %w", c.Name, err)
	}
	return &lister{c: c, host: host, client: api}, nil
}

// AuthorizeClient returns a client that authenticates with the credentials of the
// connection.
func AuthorizeClient(c discovery.Connection, host discovery.Host, client *http.Client) (*http.Client, error) {
	address := hostOf(APIURL(host))
	if c.App.ID == 0 {
		if c.Token == "" {
			return client, nil
		}
		return hostapi.AuthorizeWith(client, address, "Authorization", "Bearer "+c.Token), nil
	}
	installation, err := newInstallation(c, APIURL(host), client)
	if err != nil {
		return nil, err
	}
	return hostapi.Authorize(client, address, "Authorization", installation.readAuthorization), nil
}

// hostOf returns the host and port of a base URL.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "" // no request matches it
	}
	return u.Host
}

// List implements discovery.Lister.
func (g *lister) List(ctx context.Context, l *discovery.Listing) error {
	if g.c.Targets.All && !g.listInstallation(ctx, l) {
		return nil
	}
	if !l.EachTarget(g.c.Targets.Orgs, 1, "the name of an organization", func(org string, _ []string) bool {
		return g.listPages(l, org, func(o github.ListOptions) ([]*github.Repository, *github.Response, error) {
			return g.client.Repositories.ListByOrg(ctx, org, &github.RepositoryListByOrgOptions{Type: "all", Sort: "created", Direction: "asc", ListOptions: o})
		})
	}) {
		return nil
	}
	if !g.listUsers(ctx, l) {
		return nil
	}
	l.EachTarget(g.c.Targets.Repos, 2, "owner/name", func(name string, parts []string) bool { return g.addNamed(ctx, l, name, parts) })
	return nil
}

// listPages calls get for each page of a target. It returns false if the listing must stop.
func (g *lister) listPages(l *discovery.Listing, target string, get func(o github.ListOptions) ([]*github.Repository, *github.Response, error)) bool {
	for page := 1; page != 0; {
		found, resp, err := get(github.ListOptions{Page: page, PerPage: pageSize})
		if err != nil {
			return l.Fail(target, err)
		}
		for _, r := range found {
			if !l.Add(g.convertRepository(r)) {
				return false
			}
		}
		page = resp.NextPage
	}
	return true
}

func (g *lister) listInstallation(ctx context.Context, l *discovery.Listing) bool {
	return g.listPages(l, "all", func(o github.ListOptions) ([]*github.Repository, *github.Response, error) {
		found, resp, err := g.client.Apps.ListRepos(ctx, &o)
		if err != nil {
			return nil, resp, err
		}
		return found.Repositories, resp, nil
	})
}

// listUsers lists users. For the user of the token, the list includes private
// repositories.
func (g *lister) listUsers(ctx context.Context, l *discovery.Listing) bool {
	if len(g.c.Targets.Users) == 0 {
		return true
	}
	self := ""
	if g.c.Token != "" {
		user, _, err := g.client.Users.Get(ctx, "")
		if err != nil {
			return l.Fail("", err)
		}
		self = user.GetLogin()
	}
	return l.EachTarget(g.c.Targets.Users, 1, "the name of a user", func(user string, _ []string) bool {
		list := func(o github.ListOptions) ([]*github.Repository, *github.Response, error) {
			if strings.EqualFold(user, self) {
				return g.client.Repositories.ListByAuthenticatedUser(ctx, &github.RepositoryListByAuthenticatedUserOptions{Affiliation: "owner", Sort: "created", Direction: "asc", ListOptions: o})
			}
			return g.client.Repositories.ListByUser(ctx, user, &github.RepositoryListByUserOptions{Type: "owner", Sort: "created", Direction: "asc", ListOptions: o})
		}
		return g.listPages(l, user, list)
	})
}

func (g *lister) addNamed(ctx context.Context, l *discovery.Listing, name string, parts []string) bool {
	r, _, err := g.client.Repositories.Get(ctx, parts[0], parts[1])
	if err != nil {
		return l.Fail(name, err)
	}
	return l.Add(g.convertRepository(r))
}

// convertRepository describes a repository as ingest/github does.
func (g *lister) convertRepository(r *github.Repository) *discovery.Found {
	f := &discovery.Found{
		Repository: code.Repository{
			ID:            code.NewRepositoryID(g.host.Address, fmt.Sprint(r.GetID())),
			Kind:          code.GitHub,
			Name:          g.host.Name + "/" + r.GetFullName(),
			DisplayName:   r.GetFullName(),
			CloneURL:      r.GetCloneURL(),
			WebURL:        g.host.PageURL(r.GetHTMLURL()),
			ImageURL:      code.KeepImageURL(r.GetOwner().GetAvatarURL()),
			Description:   code.KeepDescription(r.GetDescription()),
			DefaultBranch: r.GetDefaultBranch(),
			Fork:          r.GetFork(),
			Archived:      r.GetArchived(),
			Private:       r.Private == nil || *r.Private, // as in ingest/github
		},
		Path: r.GetFullName(), Topics: r.Topics, SizeBytes: int64(r.GetSize()) << 10, Disabled: r.GetDisabled(),
	}
	if r.GetID() <= 0 || r.GetFullName() == "" {
		f.Invalid = errors.New("it has no ID or no name")
		return f
	}
	f.Invalid = g.host.CheckCloneURL(f.CloneURL)
	return f
}

// ReadRepository implements discovery.RepositoryReader.
func (g *lister) ReadRepository(ctx context.Context, r discovery.HostRepository) (*discovery.Found, error) {
	id, err := strconv.ParseInt(r.Identity, 10, 64)
	if err != nil {
		return nil, hostapi.NewError(hostapi.NotFound, fmt.Sprintf("%.80q is no ID of a repository", r.Identity))
	}
	found, _, err := g.client.Repositories.GetByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return g.convertRepository(found), nil
}
