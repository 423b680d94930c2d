package codehosts

import (
	"cmp"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/ingest/azuredevops"
	"github.com/quarrysearch/quarry/ingest/bitbucketcloud"
	"github.com/quarrysearch/quarry/ingest/gitea"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/gitlab"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Hosts are the hosts of the connections, as requests to them need them. They change when
// settings are reloaded.
type Hosts struct {
	policy  mirror.Policy
	current atomic.Pointer[hostTable]
	// installations are of the GitHub Apps of the connections; nil without any.
	installations atomic.Pointer[Installations]
}

// hostTable is what Hosts derives from the settings.
type hostTable struct {
	connections      map[string]*codeHost
	trusted, proxied map[hostPort]bool
}

// hostPort is where a service of a code host listens: a name in lower case, or an address.
type hostPort struct{ host, port string }

// codeHost is a connection and its base URL.
type codeHost struct {
	config.Connection
	base *url.URL // nil for a generic host without url
}

// publicURLs are the base URLs of kinds with a public host.
var publicURLs = map[code.HostKind]string{
	code.GitHub: github.DefaultURL, code.GitLab: gitlab.DefaultURL, code.Gitea: gitea.DefaultURL,
	code.BitbucketCloud: bitbucketcloud.DefaultURL, code.AzureDevOps: azuredevops.DefaultURL,
}

// New returns the hosts of the connections of c, without the tokens of their GitHub Apps:
// those are taken over by Replace.
func New(c *config.Config) (*Hosts, error) {
	h := &Hosts{}
	h.Replace(c, nil)
	var err error
	h.policy, err = newPolicy(c, h)
	return h, err
}

// Policy returns what git and the clients of the hosts' APIs may access.
func (h *Hosts) Policy() mirror.Policy { return h.policy }

// Replace takes over the connections of c, and the installations of their GitHub Apps.
func (h *Hosts) Replace(c *config.Config, apps Installations) {
	h.installations.Store(&apps)
	t := &hostTable{connections: make(map[string]*codeHost), trusted: make(map[hostPort]bool), proxied: make(map[hostPort]bool)}
	for _, connection := range c.Connections {
		host := &codeHost{Connection: connection}
		if u, err := url.Parse(cmp.Or(connection.URL, publicURLs[connection.Kind])); err == nil && u.Host != "" {
			host.base = u
		}
		t.connections[connection.Name] = host
		t.addAddresses(host)
	}
	h.current.Store(t)
}

// addAddresses notes where a host may be private, and where a proxy resolves its name.
func (t *hostTable) addAddresses(h *codeHost) {
	if h.base == nil {
		return
	}
	host, port := strings.ToLower(h.base.Hostname()), cmp.Or(h.base.Port(), defaultPorts[h.base.Scheme])
	if !h.Proxy.IsZero() {
		t.proxied[hostPort{host, port}] = true
	}
	if h.URL == "" {
		return // a public host
	}
	t.trusted[hostPort{host, port}] = true
	t.trusted[hostPort{host, "22"}] = true
	if ssh := sshPorts[h.Kind]; ssh != "" {
		t.trusted[hostPort{host, ssh}] = true
	}
	if u, err := url.Parse("ssh://" + h.Clone.SSHHost); err == nil && h.Clone.SSHHost != "" {
		t.trusted[hostPort{strings.ToLower(u.Hostname()), cmp.Or(u.Port(), "22")}] = true
	}
}

var defaultPorts = map[string]string{"https": "443", "http": "80"}

// sshPorts are where hosts of a kind serve git by SSH, if not at 22.
var sshPorts = map[code.HostKind]string{code.Gerrit: "29418", code.BitbucketServer: "7999"}

// isTrusted reports whether the operator named a host in a connection; port is that of
// its URL, or one at which hosts of the kind serve git by SSH.
func (h *Hosts) isTrusted(host, port string) bool {
	return h.current.Load().trusted[hostPort{host, port}]
}

// isProxied reports whether a connection reaches a host through a proxy.
func (h *Hosts) isProxied(host, port string) bool {
	return h.current.Load().proxied[hostPort{host, port}]
}
