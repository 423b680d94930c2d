package config

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Discovery bounds the discovery of repositories through the APIs of code hosts.
type Discovery struct {
	Interval        Duration `yaml:"interval" doc:"How often the repositories of each connection are listed at its code host. 0: at the start, when connections change, and on request only."`
	Concurrency     int      `yaml:"concurrency" doc:"Connections that are synced at once."`
	MaxRepositories int      `yaml:"maxRepositories" doc:"Repositories that one connection may find. With more of them the sync is incomplete: the others are not registered, and nothing is removed."`
	RequestTimeout  Duration `yaml:"requestTimeout" doc:"Longest time of one request to the API of a code host."`
}

// Connection is a code host. It sends webhooks to /webhooks/{kind}/{name} if there are
// secrets or addresses, and its repositories are found through its API if Discover says which.
type Connection struct {
	Name         string            `yaml:"name" doc:"Name of the connection and last part of its webhook URL: letters, digits, dash and underscore."`
	Kind         code.HostKind     `yaml:"kind" enum:"github,gitlab,gitea,gerrit,bitbucketServer,bitbucketCloud,genericGitHost,azuredevops" doc:"Kind of code host."`
	URL          string            `yaml:"url" doc:"Base URL of the host, such as https://git.example.org. Empty: the public host of the kind; gerrit and bitbucketServer have none."`
	WebURL       string            `yaml:"webUrl" doc:"gitlab: base URL of the pages that links lead to, if it is not that of the API and of clones. Empty: what the host says."`
	User         string            `yaml:"user" doc:"User that the token belongs to, for hosts that ask for both: bitbucketCloud with an API token, gerrit with an HTTP password."`
	Token        Secret            `yaml:"token" doc:"Token for the API of the host, as env:NAME or file:PATH; never in place. docs/connections.md has the least scopes."`
	App          GitHubApp         `yaml:"app" doc:"GitHub App to use in place of a token; github only."`
	Proxy        Secret            `yaml:"proxy" doc:"URL of the HTTP proxy to the host, as http://proxy.example:3128; as env:NAME or file:PATH if it has a password. Empty: none. It resolves the name of the host, so git.allowedNetworks does not count there."`
	CAFile       string            `yaml:"caFile" doc:"PEM file of the authorities that the host's certificate may be from, in place of those of the system."`
	Clone        Clone             `yaml:"clone" doc:"How git gets the repositories of the connection. Empty: by HTTP with token."`
	Discover     Discover          `yaml:"discover" doc:"Which repositories of the host are registered. Empty: none, only webhooks are accepted."`
	Exclude      Exclude           `yaml:"exclude" doc:"Which of them are not."`
	Permissions  Permissions       `yaml:"permissions" doc:"Permissions that are read from the host. Empty: only members that an owner names read private repositories."`
	Secrets      []Secret          `yaml:"secrets" doc:"Secrets that sign the deliveries. More than one while a secret is changed. Empty, with discover and without addresses: no webhooks are accepted."`
	Addresses    []string          `yaml:"addresses" doc:"gerrit: addresses or networks, as CIDR, that deliveries have to come from. In place of secrets, or in addition to them. access.trustedProxies says who the sender is behind a proxy."`
	AllowToken   bool              `yaml:"allowToken" doc:"Accept a secret itself from senders that cannot sign: as Authorization: Bearer, or for bitbucketServer as user:password."`
	AutoRegister bool              `yaml:"autoRegister" doc:"Register a repository at its first delivery. Otherwise its deliveries are refused."`
	Repositories map[string]string `yaml:"repositories" doc:"Names that a delivery may use instead of a clone URL."`
	Branches     []string          `yaml:"branches" doc:"Globs of branches to index in addition to the default branch, for repositories that this connection registers."`
	Tags         []string          `yaml:"tags" doc:"Globs of tags that a repository registered by this connection gets."`
}

// Hooked reports whether webhooks of the connection are accepted.
func (c *Connection) Hooked() bool { return len(c.Secrets)+len(c.Addresses) > 0 }

// Networks returns Addresses. The settings are valid.
func (c *Connection) Networks() []netip.Prefix { return parseNetworks(c.Addresses) }

// GitHubApp authenticates as an installation of a GitHub App.
type GitHubApp struct {
	ID           int    `yaml:"id" doc:"App ID, a number, or 0 for none."`
	Installation int    `yaml:"installation" doc:"Installation ID. 0: the only installation of the app."`
	PrivateKey   Secret `yaml:"privateKey" doc:"PEM of the app's private key, as env:NAME or file:PATH; never in place."`
}

// Discover selects repositories of a code host. The tag kinds lists the kinds of code
// host that support a key.
type Discover struct {
	All        bool     `yaml:"all" kinds:"github,gitlab,gitea,gerrit,bitbucketServer" doc:"Everything that the token can read; github: with app, the repositories of the installation."`
	Users      []string `yaml:"users" kinds:"github,gitlab,gitea" doc:"Users whose own repositories are registered."`
	Orgs       []string `yaml:"orgs" kinds:"github,gitea,azuredevops" doc:"Organizations; azuredevops server: collections."`
	Groups     []string `yaml:"groups" kinds:"gitlab" doc:"Groups, with their subgroups."`
	Workspaces []string `yaml:"workspaces" kinds:"bitbucketCloud" doc:"Workspaces."`
	Projects   []string `yaml:"projects" kinds:"gitlab,gerrit,bitbucketServer,bitbucketCloud,azuredevops" doc:"gitlab: full paths of projects. gerrit: globs on names of projects. bitbucketServer: keys of projects. bitbucketCloud: workspace/KEY. azuredevops: organization/project."`
	Repos      []string `yaml:"repos" kinds:"github,gitea,bitbucketServer,bitbucketCloud,azuredevops,genericGitHost" doc:"Single repositories: owner/name, bitbucketServer: KEY/slug, bitbucketCloud: workspace/slug, azuredevops: organization/project/name, genericGitHost: clone URLs, of which file:/// may have globs."`
	Topics     []string `yaml:"topics" kinds:"github,gitlab" doc:"Globs on topics: of what the other keys find, only repositories with one of these topics."`
}

// Exclude selects repositories that are found but not registered.
type Exclude struct {
	Forks     bool     `yaml:"forks" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud,azuredevops" doc:"Forks."`
	Archived  bool     `yaml:"archived" kinds:"github,gitlab,gitea,bitbucketServer" doc:"Archived repositories."`
	UserOwned bool     `yaml:"userOwned" kinds:"gitlab,bitbucketServer" doc:"Repositories of users."`
	ReadOnly  bool     `yaml:"readOnly" kinds:"gerrit" doc:"Projects that are read-only."`
	Hidden    bool     `yaml:"hidden" kinds:"gerrit" doc:"Projects that are hidden."`
	Disabled  bool     `yaml:"disabled" kinds:"azuredevops" doc:"Disabled repositories."`
	Repos     []string `yaml:"repos" kinds:"github,gitea,bitbucketServer,bitbucketCloud,azuredevops" doc:"Globs on names of repositories, as in discover.repos; bitbucketCloud: workspace/KEY/slug."`
	Projects  []string `yaml:"projects" kinds:"gitlab,gerrit,azuredevops" doc:"Globs on names of projects, as in discover.projects."`
	Topics    []string `yaml:"topics" kinds:"github,gitlab" doc:"Globs on topics."`
	MinSize   Bytes    `yaml:"minSize" kinds:"github,azuredevops" doc:"Repositories that the host reports as smaller."`
	MaxSize   Bytes    `yaml:"maxSize" kinds:"github,azuredevops" doc:"Repositories that the host reports as larger. 0: none."`
}

// Permissions defines how permissions are read from a code host.
type Permissions struct {
	Read     bool     `yaml:"read" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"Read from the host who may read each private repository, and let those users read it here as well."`
	Provider string   `yaml:"provider" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"Name of the provider in access.oidc that gives the ID of a user at the host: as its subject, or in hostClaim if the provider has one."`
	Emails   bool     `yaml:"emails" kinds:"gitlab" doc:"Also match users by e-mail address, if both the host and the identity provider have verified it. Needs a token of an administrator."`
	Interval Duration `yaml:"interval" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"How often the permissions of each repository are read, in addition to readings after webhooks; at least 5m. Readings are spread over the interval. 0: 6h."`
	MaxAge   Duration `yaml:"maxAge" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"Age from which a reading grants nothing, such as while the host does not answer; at least twice interval. 0: four times interval."`
}

// These are the defaults of Permissions.
const (
	defaultPermissionsInterval = Duration(6 * time.Hour)
	minPermissionsInterval     = Duration(5 * time.Minute)
	defaultMaxAgeIntervals     = 4
)

// EffectiveInterval returns the interval, or its default.
func (p *Permissions) EffectiveInterval() Duration {
	return cmp.Or(p.Interval, defaultPermissionsInterval)
}

// EffectiveMaxAge returns the maximum age, or its default.
func (p *Permissions) EffectiveMaxAge() Duration {
	return cmp.Or(p.MaxAge, defaultMaxAgeIntervals*p.EffectiveInterval())
}

// Discovers reports whether repositories of the connection are discovered.
func (c *Connection) Discovers() bool {
	d := &c.Discover
	return d.All || len(d.Users)+len(d.Orgs)+len(d.Groups)+len(d.Workspaces)+len(d.Projects)+len(d.Repos) > 0
}
