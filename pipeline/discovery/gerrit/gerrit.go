package gerrit

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// pageSize is the number of projects requested per page.
const pageSize = 500

// prefix precedes every response, so that no web page can include it as a script.
const prefix = ")]}'"

// internalProjects hold no code.
var internalProjects = []string{"All-Projects", "All-Users", "All-Avatars", "All-Archived-Projects"}

// lister lists one connection.
type lister struct {
	c    discovery.Connection
	host discovery.Host
	// web is the base URL of pages and name the base of names, both without /a.
	web, name string
	api       hostapi.JSON
}

// project is a project in the API of Gerrit.
type project struct {
	ID          string `json:"id"`
	State       string `json:"state"`
	Description string `json:"description"`
	More        bool   `json:"_more_projects"`
}

// Open implements discovery.Open for Gerrit.
func Open(c discovery.Connection, client *http.Client) (discovery.Lister, error) {
	host, err := discovery.ParseHost(c, "")
	if err != nil {
		return nil, err
	}
	g := &lister{c: c, host: host, web: strings.TrimSuffix(host.Base, "/a"), name: strings.TrimSuffix(host.Name, "/a")}
	g.api = hostapi.JSON{Base: g.web + "/", Prefix: prefix, Client: client}
	if c.Token != "" {
		g.api.Base = g.web + "/a/"
		g.api.Client = hostapi.AuthorizeWith(client, host.Address, "Authorization", hostapi.BasicAuthorization(c.User, c.Token))
	}
	return g, nil
}

// List implements discovery.Lister.
func (g *lister) List(ctx context.Context, l *discovery.Listing) error {
	matched := make([]bool, len(g.c.Targets.Projects))
	for start := 0; ; start += pageSize {
		var page map[string]project
		query := url.Values{"n": {strconv.Itoa(pageSize)}, "S": {strconv.Itoa(start)}, "d": {""}}
		if err := g.api.Get(ctx, "projects/", query, &page); err != nil {
			l.Fail("", err)
			return nil
		}
		more := false
		for _, name := range slices.Sorted(maps.Keys(page)) {
			more = more || page[name].More
			if g.isWanted(name, matched) && !l.Add(g.convertProject(name, page[name])) {
				return nil
			}
		}
		if !more {
			break
		}
	}
	for i, glob := range g.c.Targets.Projects {
		if !matched[i] && !l.Fail(glob, hostapi.NewError(hostapi.NotFound, "no project matches")) {
			return nil
		}
	}
	return nil
}

// isWanted reports whether a project is selected, and marks the globs that match.
func (g *lister) isWanted(name string, matched []bool) bool {
	if slices.Contains(internalProjects, name) {
		return false
	}
	wanted := g.c.Targets.All
	for i, glob := range g.c.Targets.Projects {
		if mirror.MatchGlob(glob, name) {
			matched[i], wanted = true, true
		}
	}
	return wanted
}

// convertProject describes a project as ingest/gerrit does.
func (g *lister) convertProject(name string, p project) *discovery.Found {
	f := &discovery.Found{
		Repository: code.Repository{
			ID: code.NewRepositoryID(g.name, name), Kind: code.Gerrit,
			Name: g.name + "/" + name, DisplayName: name,
			CloneURL: g.host.Base + "/" + name, WebURL: g.web + "/plugins/gitiles/" + name, Description: code.KeepDescription(p.Description),
			Archived: p.State == "READ_ONLY", Private: g.c.Token != "",
		},
		Path: name, ReadOnly: p.State == "READ_ONLY", Hidden: p.State == "HIDDEN",
	}
	if path.Clean("/"+name) != "/"+name {
		f.Invalid = fmt.Errorf("%.80q is no path of a project", name)
		return f
	}
	f.Invalid = g.host.CheckCloneURL(f.CloneURL)
	return f
}

// ReadRepository implements discovery.RepositoryReader. Unlike a listing, it reads the
// default branch.
func (g *lister) ReadRepository(ctx context.Context, r discovery.HostRepository) (*discovery.Found, error) {
	if slices.Contains(internalProjects, r.Identity) {
		return nil, hostapi.NewError(hostapi.NotFound, "the project holds no code")
	}
	path := "projects/" + url.PathEscape(r.Identity)
	var p project
	if err := g.api.Get(ctx, path, nil, &p); err != nil {
		return nil, err
	}
	found := g.convertProject(r.Identity, p)
	var head string
	if err := g.api.Get(ctx, path+"/HEAD", nil, &head); err != nil {
		return nil, err
	}
	if branch, ok := strings.CutPrefix(head, "refs/heads/"); ok {
		found.DefaultBranch = branch
	}
	return found, nil
}
