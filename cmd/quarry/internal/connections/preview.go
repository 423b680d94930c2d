package connections

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of a preview.
const (
	maxPreviewed   = 1000
	previewTimeout = 20 * time.Second
)

// Wanted is a connection that the settings do not have. Key is the key of discover that Names are
// for.
type Wanted struct {
	Kind                  code.HostKind
	URL, User, Token, Key string
	Names                 []string
}

// Previewer lists what connections would find that the settings do not have, one at a time. It
// contacts only hosts that the settings allow: to name a host in a preview allows nothing.
type Previewer struct {
	hosts   *codehosts.Hosts
	timeout time.Duration // of a request
	busy    sync.Mutex
}

// NewPreviewer returns a Previewer. Its requests take at most timeout each.
func NewPreviewer(hosts *codehosts.Hosts, timeout time.Duration) *Previewer {
	return &Previewer{hosts: hosts, timeout: timeout}
}

// Preview lists what a connection would find. The error says what is wrong with the connection, in
// words for its owner and without its credentials.
func (p *Previewer) Preview(ctx context.Context, in Wanted) (Found, error) {
	settings, err := readPreview(in)
	if err != nil {
		return Found{}, err
	}
	if !p.busy.TryLock() {
		return Found{}, errors.New("another check is running; try again in some seconds")
	}
	defer p.busy.Unlock()
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	d := settings.Discover
	found, err := checkConnection(ctx, discovery.Connection{
		Name: settings.Name, Kind: settings.Kind, URL: settings.URL, User: settings.User, Token: in.Token,
		Targets: discovery.Targets{All: d.All, Users: d.Users, Orgs: d.Orgs, Groups: d.Groups, Workspaces: d.Workspaces, Projects: d.Projects, Repos: d.Repos},
	}, p.hosts, p.timeout, maxPreviewed)
	if errors.Is(err, context.DeadlineExceeded) {
		return Found{}, fmt.Errorf("the host did not list everything within %s; name fewer targets, or use quarry connections check", previewTimeout)
	}
	for i := range found.Issues {
		if in.Token != "" { // a host may repeat what it was sent
			found.Issues[i].Detail = strings.ReplaceAll(found.Issues[i].Detail, in.Token, "[token]")
		}
	}
	return found, err
}

// readPreview returns a connection as settings would have it. Those of genericGitHost list
// directories of the server, and are not previewed.
func readPreview(in Wanted) (config.Connection, error) {
	c := config.Connection{Name: "preview", Kind: in.Kind, URL: in.URL, User: in.User}
	lists := map[string]*[]string{
		"users": &c.Discover.Users, "orgs": &c.Discover.Orgs, "groups": &c.Discover.Groups,
		"workspaces": &c.Discover.Workspaces, "projects": &c.Discover.Projects, "repos": &c.Discover.Repos,
	}
	switch list := lists[in.Key]; {
	case in.Kind == code.GenericGitHost:
		return c, errors.New("a host without an API cannot be checked here; use quarry connections check")
	case in.Key == "all":
		c.Discover.All = true
	case list == nil || len(in.Names) == 0: // settings without names are those of webhooks alone
		return c, errors.New("say what to look for: names, or all")
	default:
		*list = in.Names
	}
	return c, c.CheckDiscovery()
}
