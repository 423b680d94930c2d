package config

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Discovery bounds the discovery of repositories through the APIs of code hosts.
type Discovery struct {
	Interval        Duration `yaml:"interval" doc:"How often the repositories of each connection are listed at its code host. 0: only at startup, when connections change, and on request."`
	Concurrency     int      `yaml:"concurrency" doc:"Number of connections synced concurrently."`
	MaxRepositories int      `yaml:"maxRepositories" doc:"Maximum number of repositories that one connection may find. If there are more, the sync is incomplete: the others are not registered, and nothing is removed."`
	RequestTimeout  Duration `yaml:"requestTimeout" doc:"Timeout of a request to the API of a code host."`
}

// Connection is a code host. It sends webhooks to /webhooks/{kind}/{name} if there are
// secrets or addresses, and its repositories are found through its API if Discover says which.
type Connection struct {
	Name         string            `yaml:"name" doc:"Name of the connection and last part of its webhook URL: letters, digits, dashes and underscores."`
	Kind         code.HostKind     `yaml:"kind" enum:"github,gitlab,gitea,gerrit,bitbucketServer,bitbucketCloud,genericGitHost,azuredevops" doc:"Kind of code host."`
	URL          string            `yaml:"url" doc:"Base URL of the host, such as https://git.example.org. Empty: the public host of the kind. Required for gerrit and bitbucketServer, which have none."`
	WebURL       string            `yaml:"webUrl" doc:"gitlab: base URL of the pages that links lead to, if it differs from that of the API and of clones. Empty: the address that the host reports."`
	User         string            `yaml:"user" doc:"User that the token belongs to, for hosts that require both: bitbucketCloud with an API token, gerrit with an HTTP password."`
	Token        Secret            `yaml:"token" doc:"Token for the API of the host, as env:NAME or file:PATH; a literal value is rejected. docs/connections.md lists the minimum scopes."`
	App          GitHubApp         `yaml:"app" doc:"GitHub App to use instead of a token; github only."`
	Proxy        Secret            `yaml:"proxy" doc:"URL of an HTTP proxy for requests to the host, such as http://proxy.example:3128; as env:NAME or file:PATH if it has a password. Empty: none. The proxy resolves the name of the host, so git.allowedNetworks does not apply."`
	CAFile       string            `yaml:"caFile" doc:"PEM file of certificate authorities to trust for the host, instead of those of the system."`
	Clone        Clone             `yaml:"clone" doc:"How git clones the repositories of the connection. Empty: over HTTP with token."`
	Discover     Discover          `yaml:"discover" doc:"Repositories of the host to register. Empty: none; only webhooks are accepted."`
	Exclude      Exclude           `yaml:"exclude" doc:"Repositories to leave out."`
	Permissions  Permissions       `yaml:"permissions" doc:"Permissions to read from the host. Empty: private repositories can be read only by members that an owner names."`
	Secrets      []Secret          `yaml:"secrets" doc:"Secrets that sign the deliveries. List several while you rotate a secret. Empty, with discover and without addresses: no webhooks are accepted."`
	Addresses    []string          `yaml:"addresses" doc:"gerrit: addresses or networks (CIDR) that deliveries must come from, instead of secrets or in addition to them. Behind a proxy, access.trustedProxies determines the sender."`
	AllowToken   bool              `yaml:"allowToken" doc:"Accept the secret itself from senders that cannot sign: as Authorization: Bearer, or for bitbucketServer as user:password."`
	AutoRegister bool              `yaml:"autoRegister" doc:"Register a repository with its first delivery. Off: deliveries of unregistered repositories are rejected."`
	Repositories map[string]string `yaml:"repositories" doc:"Repository names that a delivery may use instead of a clone URL."`
	Branches     []string          `yaml:"branches" doc:"Globs of branches to index in addition to the default branch, in repositories that this connection registers."`
	Tags         []string          `yaml:"tags" doc:"Globs of tags to index, in repositories that this connection registers."`
	Submodules   bool              `yaml:"submodules" doc:"Index the commits that submodules of these repositories refer to, in the repositories of the submodules, if Quarry has them."`
}

// Hooked reports whether webhooks of the connection are accepted.
func (c *Connection) Hooked() bool { return len(c.Secrets)+len(c.Addresses) > 0 }

// Networks returns Addresses. The settings are valid.
func (c *Connection) Networks() []netip.Prefix { return parseNetworks(c.Addresses) }

// GitHubApp authenticates as an installation of a GitHub App.
type GitHubApp struct {
	ID           int    `yaml:"id" doc:"App ID, a number; 0 for none."`
	Installation int    `yaml:"installation" doc:"Installation ID. 0: the only installation of the app."`
	PrivateKey   Secret `yaml:"privateKey" doc:"Private key of the app in PEM format, as env:NAME or file:PATH; a literal value is rejected."`
}

// Discover selects repositories of a code host. The tag kinds lists the kinds of code
// host that support a key.
type Discover struct {
	All        bool     `yaml:"all" kinds:"github,gitlab,gitea,gerrit,bitbucketServer" doc:"Everything that the token can read; for github with app, the repositories of the installation."`
	Users      []string `yaml:"users" kinds:"github,gitlab,gitea" doc:"Users whose repositories are registered."`
	Orgs       []string `yaml:"orgs" kinds:"github,gitea,azuredevops" doc:"Organizations; for an azuredevops server, collections."`
	Groups     []string `yaml:"groups" kinds:"gitlab" doc:"Groups, including their subgroups."`
	Workspaces []string `yaml:"workspaces" kinds:"bitbucketCloud" doc:"Workspaces."`
	Projects   []string `yaml:"projects" kinds:"gitlab,gerrit,bitbucketServer,bitbucketCloud,azuredevops" doc:"gitlab: full project paths. gerrit: globs on project names. bitbucketServer: project keys. bitbucketCloud: workspace/KEY. azuredevops: organization/project."`
	Repos      []string `yaml:"repos" kinds:"github,gitea,bitbucketServer,bitbucketCloud,azuredevops,genericGitHost" doc:"Individual repositories: owner/name. bitbucketServer: KEY/slug. bitbucketCloud: workspace/slug. azuredevops: organization/project/name. genericGitHost: clone URLs; file:/// URLs may contain globs."`
	Topics     []string `yaml:"topics" kinds:"github,gitlab" doc:"Globs on topics. Keeps only repositories that have a matching topic, among those that the other keys find."`
}

// Exclude selects repositories that are found but not registered.
type Exclude struct {
	Forks     bool     `yaml:"forks" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud,azuredevops" doc:"Forks."`
	Archived  bool     `yaml:"archived" kinds:"github,gitlab,gitea,bitbucketServer" doc:"Archived repositories."`
	UserOwned bool     `yaml:"userOwned" kinds:"gitlab,bitbucketServer" doc:"Repositories owned by users."`
	ReadOnly  bool     `yaml:"readOnly" kinds:"gerrit" doc:"Read-only projects."`
	Hidden    bool     `yaml:"hidden" kinds:"gerrit" doc:"Hidden projects."`
	Disabled  bool     `yaml:"disabled" kinds:"azuredevops" doc:"Disabled repositories."`
	Repos     []string `yaml:"repos" kinds:"github,gitea,bitbucketServer,bitbucketCloud,azuredevops" doc:"Globs on repository names, as in discover.repos; bitbucketCloud: workspace/KEY/slug."`
	Projects  []string `yaml:"projects" kinds:"gitlab,gerrit,azuredevops" doc:"Globs on project names, as in discover.projects."`
	Topics    []string `yaml:"topics" kinds:"github,gitlab" doc:"Globs on topics."`
	MinSize   Bytes    `yaml:"minSize" kinds:"github,azuredevops" doc:"Repositories that are smaller, as reported by the host."`
	MaxSize   Bytes    `yaml:"maxSize" kinds:"github,azuredevops" doc:"Repositories that are larger, as reported by the host. 0: none."`
}

// Permissions defines how permissions are read from a code host.
type Permissions struct {
	Read     bool     `yaml:"read" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"Read from the host who may read each private repository, and grant those users access here as well."`
	Provider string   `yaml:"provider" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"Name of the provider in access.oidc whose ID token has the user's ID on the host: as its subject, or in hostClaim if the provider has one."`
	Emails   bool     `yaml:"emails" kinds:"gitlab" doc:"Also match users by email address, if both the host and the identity provider have verified it. Requires an administrator's token."`
	Interval Duration `yaml:"interval" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"How often the permissions of each repository are read, in addition to the reads after webhooks; at least 5m. Reads are spread over the interval. 0: 6h."`
	MaxAge   Duration `yaml:"maxAge" kinds:"github,gitlab,gitea,bitbucketServer,bitbucketCloud" doc:"Age at which permissions that were read no longer grant access, for example because the host does not answer; at least twice interval. 0: four times interval."`
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
