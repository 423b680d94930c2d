package discovery

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Connection is what is looked for on one code host.
type Connection struct {
	Name string
	Kind code.HostKind
	// URL is the base URL of the host; empty for the public one of the kind.
	URL string
	// User and Token authenticate; App does so for GitHub Apps.
	User, Token string
	App         App
	// Proxy is the URL of a proxy to the host, CA the PEM of its authorities; empty for
	// none, and for those of the system.
	Proxy, CA string
	// ReadMembers says that permissions are read: webhooks then include the events that
	// change them.
	ReadMembers bool
	// ReadEmails has a MemberReader read verified addresses as well.
	ReadEmails bool
	Targets    Targets
	Exclude    Filter
	// Branches and Tags are the globs that registered repositories get.
	Branches, Tags []string
}

// App is an installation of a GitHub App.
type App struct {
	ID, Installation int64
	// PrivateKey is its PEM.
	PrivateKey string
}

// Targets name repositories of a host. Which of them a kind has is checked by
// cmd/internal/config.
type Targets struct {
	All                                                      bool
	Users, Orgs, Groups, Workspaces, Projects, Repos, Topics []string
}

// Found is a repository that a host listed.
type Found struct {
	// Repository has an ID of the host's identity. Connection, Branches and Tags are
	// not set.
	code.Repository
	// Path is the name on the host, which globs are matched with.
	Path   string
	Topics []string
	// SizeBytes is what the host says; 0 if it says nothing.
	SizeBytes                             int64
	ReadOnly, Hidden, Disabled, UserOwned bool
	// Invalid is why it cannot be registered, such as a clone URL on another host. It
	// stays registered if it is.
	Invalid error
}

// Lister lists the repositories of one connection.
type Lister interface {
	// List calls Listing.Add for each repository, and Listing.Fail for each target that
	// could not be listed whole; it then goes on with the next. It returns early once
	// either returns false. It returns an error if nothing can be listed.
	List(ctx context.Context, l *Listing) error
}

// Open checks a connection and returns its Lister. Requests go through client.
type Open func(c Connection, client *http.Client) (Lister, error)

// Host is the code host of a connection, as ingest has it: names and IDs of both agree.
type Host struct {
	// Name is host, port and path of the base URL; Address host and port alone; Base
	// the URL without a slash at its end.
	Name, Address, Base string
}

// ParseHost returns the host of a connection; publicURL is used for an empty URL.
func ParseHost(c Connection, publicURL string) (Host, error) {
	base := c.URL
	if base == "" {
		base = publicURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return Host{}, fmt.Errorf("connection %s: want the base URL of the %s host, such as https://git.example.org", c.Name, c.Kind)
	}
	address, below := strings.ToLower(u.Host), strings.TrimRight(u.Path, "/")
	return Host{Name: address + below, Address: address, Base: u.Scheme + "://" + address + below}, nil
}

// PageURL returns s if it is an http(s) URL on the host, and nothing otherwise: it
// becomes a link in pages.
func (h Host) PageURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || !strings.EqualFold(u.Host, h.Address) || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return s
}

// CheckCloneURL refuses a clone URL that does not lead to the host: an API cannot make
// Quarry fetch from elsewhere.
func (h Host) CheckCloneURL(s string) error {
	clone, err := code.ParseCloneURL(s)
	if err != nil {
		return err
	}
	if clone.Host != withoutDefaultPort(h) {
		return fmt.Errorf("its clone URL is on host %.80q, the connection is for %q", clone.Host, h.Address)
	}
	return nil
}

// withoutDefaultPort is the address as code.CloneURL has it.
func withoutDefaultPort(h Host) string {
	scheme, _, _ := strings.Cut(h.Base, "://")
	return strings.TrimSuffix(h.Address, map[string]string{"https": ":443", "http": ":80"}[scheme])
}

// SplitTarget takes a target such as owner/name apart into exactly n parts, none of them
// empty or a dot segment.
func SplitTarget(target string, n int) ([]string, bool) {
	parts := strings.Split(target, "/")
	if len(parts) != n {
		return nil, false
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return nil, false
		}
	}
	return parts, true
}
