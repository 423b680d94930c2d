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

// Hosts holds the hosts of the connections for requests to them. They change when
// settings are reloaded.
type Hosts struct {
	policy  mirror.Policy
	current atomic.Pointer[hostTable]
	// installations belong to the GitHub Apps of the connections; nil without any.
	installations atomic.Pointer[Installations]
}

// hostTable is the data that Hosts derives from the settings.
type hostTable struct {
	connections      map[string]*codeHost
	trusted, proxied map[hostPort]bool
}

// hostPort is the address of a service of a code host: a lower-case name or an IP
// address, and a port.
type hostPort struct{ host, port string }

// codeHost is a connection and its base URL.
type codeHost struct {
	config.Connection
	base *url.URL // nil for a generic host without a URL
}

// publicURLs are the base URLs of kinds with a public host.
var publicURLs = map[code.HostKind]string{
	code.GitHub: github.DefaultURL, code.GitLab: gitlab.DefaultURL, code.Gitea: gitea.DefaultURL,
	code.BitbucketCloud: bitbucketcloud.DefaultURL, code.AzureDevOps: azuredevops.DefaultURL,
}

// New returns the hosts of the connections of c, without the tokens of their GitHub Apps.
// Replace sets those.
func New(c *config.Config) (*Hosts, error) {
	h := &Hosts{}
	h.Replace(c, nil)
	var err error
	h.policy, err = newPolicy(c, h)
	return h, err
}

// Policy returns the policy on what git and the clients of the hosts' APIs may access.
func (h *Hosts) Policy() mirror.Policy { return h.policy }

// Replace sets the connections to those of c, and the installations of their GitHub Apps
// to apps.
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

// addAddresses records the addresses at which a host may be private, and those whose
// names a proxy resolves.
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

// sshPorts are the default SSH ports of host kinds that do not use 22.
var sshPorts = map[code.HostKind]string{code.Gerrit: "29418", code.BitbucketServer: "7999"}

// isTrusted reports whether the operator named a host in a connection. port is the port
// of its URL, or a default SSH port of its kind.
func (h *Hosts) isTrusted(host, port string) bool {
	return h.current.Load().trusted[hostPort{host, port}]
}

// isProxied reports whether a connection reaches a host through a proxy.
func (h *Hosts) isProxied(host, port string) bool {
	return h.current.Load().proxied[hostPort{host, port}]
}
