package discovery

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Connection describes what discovery looks for on one code host.
type Connection struct {
	Name string
	Kind code.HostKind
	// URL is the base URL of the host; empty means the public host of the kind.
	URL string
	// WebURL is the base URL of the host's pages, if it is another.
	WebURL string
	// User and Token authenticate requests; a GitHub App uses App instead.
	User, Token string
	App         App
	// Proxy is the URL of a proxy to the host; empty means none. CA holds the host's
	// certificate authorities as PEM; empty means those of the system.
	Proxy, CA string
	// ReadMembers means that permissions are read: webhooks then include the events that
	// change permissions.
	ReadMembers bool
	// ReadEmails makes a MemberReader read verified email addresses as well.
	ReadEmails bool
	Targets    Targets
	Exclude    Filter
	// Branches and Tags are the globs of registered repositories.
	Branches, Tags []string
	// Submodules is the value of code.Repository.Submodules for registered repositories.
	Submodules bool
}

// App is an installation of a GitHub App.
type App struct {
	ID, Installation int64
	// PrivateKey is the app's key as PEM.
	PrivateKey string
}

// Targets name repositories of a host. cmd/internal/config checks which of them a kind
// supports.
type Targets struct {
	All                                                      bool
	Users, Orgs, Groups, Workspaces, Projects, Repos, Topics []string
}

// Found is a repository that a host listed.
type Found struct {
	// Repository has an ID derived from the host's identity of it. Connection, Branches,
	// Tags and Submodules are not set.
	code.Repository
	// Path is the name on the host. Globs match it.
	Path   string
	Topics []string
	// SizeBytes is the size that the host reports, or 0 if it reports none.
	SizeBytes                             int64
	ReadOnly, Hidden, Disabled, UserOwned bool
	// Invalid explains why the repository cannot be registered, for example because its
	// clone URL is on another host. A registered repository stays registered.
	Invalid error
}

// Lister lists the repositories of one connection.
type Lister interface {
	// List calls Listing.Add for each repository, and Listing.Fail for each target that
	// could not be listed completely; it then continues with the next target. It returns
	// early once either returns false. It returns an error if nothing can be listed.
	List(ctx context.Context, l *Listing) error
}

// HostRepository says which repository of a host to read.
type HostRepository struct {
	// Identity is the host's own identity of the repository.
	Identity string
	// Paths are names that the repository may have, for hosts that find it only by name.
	Paths []string
	// CloneURL is the last known clone URL.
	CloneURL string
}

// RepositoryReader reads one repository. The Lister of every kind with an API implements
// it.
type RepositoryReader interface {
	// ReadRepository returns the repository as the host describes it now. The error has
	// the code hostapi.NotFound if the host does not have it, or does not show it to this
	// connection. The caller checks the ID of the result.
	ReadRepository(ctx context.Context, r HostRepository) (*Found, error)
}

// Open checks a connection and returns its Lister. Requests go through client.
type Open func(c Connection, client *http.Client) (Lister, error)

// Host is the code host of a connection. Names and IDs agree with those of package
// ingest.
type Host struct {
	// Name is the host, port and path of the base URL; Address is host and port; Base is
	// the URL without a trailing slash.
	Name, Address, Base string
}

// ParseHost returns the host of a connection; publicURL is used if the URL is empty.
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

// PageURL returns s if it is an http(s) URL on the host, and an empty string otherwise,
// because it becomes a link in pages.
func (h Host) PageURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || !strings.EqualFold(u.Host, h.Address) || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return s
}

// CheckCloneURL returns an error for a clone URL on another host: an API cannot make
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

// withoutDefaultPort returns the address in the form of code.CloneURL.
func withoutDefaultPort(h Host) string {
	scheme, _, _ := strings.Cut(h.Base, "://")
	return strings.TrimSuffix(h.Address, map[string]string{"https": ":443", "http": ":80"}[scheme])
}

// SplitTarget splits a target such as owner/name into exactly n parts, none of them empty
// or a dot segment.
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
