package migrate

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/schemas/code"
)

// addSourcebot converts a configuration of Sourcebot.
func (r *Result) addSourcebot(text []byte) error {
	top := object{r: r}
	if err := decodeJSON(text, &top.values); err != nil {
		return err
	}
	r.noteUnknown("", top.values, "$schema", "settings", "connections", "contexts", "models", "apps", "identityProviders",
		"environmentOverrides")
	if top.values["connections"] == nil && top.values["settings"] == nil && top.values["contexts"] == nil {
		return fmt.Errorf("%w: it has neither connections nor settings nor contexts", ErrFormat)
	}
	connections := top.child("connections")
	for _, name := range sortedKeys(connections.values) {
		r.addSourcebotConnection(name, connections.child(name))
	}
	r.addApps(top)
	r.addSettings(top.child("settings"))
	contexts := top.child("contexts")
	for _, name := range sortedKeys(contexts.values) {
		r.addContext(name, contexts.child(name))
	}
	if top.values["models"] != nil {
		r.addNote("models: Quarry calls no language model; connect an agent with quarry mcp")
	}
	if top.values["identityProviders"] != nil {
		r.addNote("identityProviders: not taken; set those with OpenID Connect in access.oidc")
	}
	for _, name := range sortedKeys(top.child("environmentOverrides").values) {
		r.addNote("environmentOverrides.%.80s: not taken; set the variable in the environment of quarry serve if a token refers to it", name)
	}
	return nil
}

// commonKeys are the keys of every connection.
var commonKeys = []string{"type", "revisions", "enforcePermissions", "enforcePermissionsForPublicRepos", "token", "url", "exclude"}

func (r *Result) addSourcebotConnection(name string, o object) {
	if o.values == nil {
		return
	}
	c := config.Connection{Name: name, Token: r.readToken(o)}
	revisions := o.child("revisions")
	c.Branches, c.Tags = r.checkGlobs(revisions.where+"branches", revisions.list("branches")), r.checkGlobs(revisions.where+"tags",
		revisions.list("tags"))
	r.noteUnknown(revisions.where, revisions.values, "branches", "tags")
	own, known := r.fillConnection(&c, o)
	if !known {
		r.addNote("%stype: %.40q is not a kind of code host, connection not taken", o.where, o.text("type"))
		return
	}
	r.noteUnknown(o.where, o.values, append(own, commonKeys...)...)
	if o.values["enforcePermissions"] == nil {
		r.addNote("connections: where PERMISSION_SYNC_ENABLED was set there, set access.defaultVisibility to private")
	}
	if o.flag("enforcePermissions") {
		r.Config.Access.DefaultVisibility = "private"
		r.addNote("%senforcePermissions: not taken, since it needs an identity provider: all repositories are private until an owner shares them (access.defaultVisibility), or set permissions of the connection", o.where)
	}
	if o.flag("enforcePermissionsForPublicRepos") {
		r.Config.Access.DefaultVisibility = "private"
		r.addNote("%senforcePermissionsForPublicRepos: public repositories of the host are shown to everyone who may search; set their visibility", o.where)
	}
	if !c.Discovers() {
		r.addNote("connections.%s: it names no repositories, not taken", name)
		return
	}
	r.addConnection(c, o.where)
}

// readToken returns the reference to a token.
func (r *Result) readToken(o object) config.Secret {
	if o.values["token"] == nil {
		return config.Secret{}
	}
	return r.readReference(o, "token")
}

// readReference returns a secret that is given as {"env": …} or {"googleCloudSecret": …}.
func (r *Result) readReference(o object, key string) config.Secret {
	if _, plain := o.values[key].(string); plain {
		r.addNote("%s%s: a secret in place is not copied: write it to a file or a variable, and set %[2]s to file:PATH or env:NAME", o.where, key)
		return config.Secret{}
	}
	reference := o.child(key)
	if name := reference.text("env"); name != "" {
		return config.NewSecret("env:" + name)
	}
	if reference.text("googleCloudSecret") != "" {
		r.addNote("%s%s: secrets of Google Cloud are not read: have it written to a file, and set %[2]s to file:PATH", o.where, key)
	}
	return config.Secret{}
}

// fillConnection adds the settings that are specific to the type of a connection, and
// returns the keys that it handles.
func (r *Result) fillConnection(c *config.Connection, o object) (own []string, known bool) {
	if o.text("type") != "git" {
		c.URL = r.cleanURL(o.where+"url", o.text("url"))
	}
	exclude := o.child("exclude")
	var excluded []string
	switch o.text("type") {
	case "github":
		c.Kind, own, excluded = code.GitHub, []string{"users", "orgs", "repos", "topics"}, []string{"forks", "archived", "repos", "topics",
			"size"}
		c.URL = dropDefault(c.URL, "https://github.com")
	case "gitlab":
		c.Kind, own, excluded = code.GitLab, []string{"all", "users", "groups", "projects", "topics", "webUrl"}, []string{"forks", "archived",
			"userOwnedProjects", "projects", "topics"}
		c.URL = dropDefault(c.URL, "https://gitlab.com")
		c.Discover.All, c.Discover.Groups, c.Exclude.UserOwned = o.flag("all"), o.list("groups"), exclude.flag("userOwnedProjects")
		if c.Discover.All && c.URL == "" {
			c.Discover.All = false
			r.addNote("%sall: ignored on gitlab.com, there as here", o.where)
		}
		c.WebURL = r.cleanURL(o.where+"webUrl", o.text("webUrl"))
	case "gitea":
		c.Kind, own, excluded = code.Gitea, []string{"orgs", "repos", "users"}, []string{"forks", "archived", "repos"}
		c.URL = dropDefault(c.URL, "https://gitea.com")
	case "gerrit":
		c.Kind, own, excluded = code.Gerrit, []string{"projects"}, []string{"projects", "readOnly", "hidden"}
		c.Exclude.ReadOnly, c.Exclude.Hidden = exclude.flag("readOnly"), exclude.flag("hidden")
		c.Discover.All = len(o.list("projects")) == 0
	case "bitbucket":
		own, excluded = r.fillBitbucket(c, o)
	case "azuredevops":
		c.Kind, own, excluded = code.AzureDevOps, []string{"orgs", "projects", "repos", "deploymentType", "useTfsPath"}, []string{"disabled",
			"repos", "projects", "size"}
		c.Exclude.Disabled = exclude.flag("disabled")
		c.URL = dropDefault(c.URL, "https://dev.azure.com")
		if o.flag("useTfsPath") && c.URL != "" && !strings.HasSuffix(c.URL, "/tfs") {
			c.URL += "/tfs"
		}
	case "git":
		c.Kind = code.GenericGitHost
		r.fillGeneric(c, o.where+"url", o.text("url"))
	default:
		return nil, false
	}
	r.noteUnknown(exclude.where, exclude.values, excluded...)
	r.fillTargets(c, o, own, exclude, excluded)
	return own, true
}

// dropDefault returns an empty string if the URL is the default.
func dropDefault(given, public string) string {
	if given == public {
		return ""
	}
	return given
}

// fillTargets adds the lists that several types share.
func (r *Result) fillTargets(c *config.Connection, o object, own []string, exclude object, excluded []string) {
	take := func(from object, keys []string, key string, to *[]string) {
		for _, k := range keys {
			if k == key {
				*to = r.checkGlobs(from.where+key, from.list(key))
			}
		}
	}
	take(o, own, "users", &c.Discover.Users)
	take(o, own, "orgs", &c.Discover.Orgs)
	take(o, own, "workspaces", &c.Discover.Workspaces)
	take(o, own, "projects", &c.Discover.Projects)
	take(o, own, "repos", &c.Discover.Repos)
	take(o, own, "topics", &c.Discover.Topics)
	take(exclude, excluded, "repos", &c.Exclude.Repos)
	take(exclude, excluded, "projects", &c.Exclude.Projects)
	take(exclude, excluded, "topics", &c.Exclude.Topics)
	for _, key := range excluded {
		switch key {
		case "forks":
			c.Exclude.Forks = exclude.flag(key)
		case "archived":
			if c.Kind == code.BitbucketCloud {
				r.noteFlag(exclude, key, "Bitbucket Cloud has no archived repositories")
				continue
			}
			c.Exclude.Archived = exclude.flag(key)
		case "size":
			size := exclude.child(key)
			c.Exclude.MinSize, c.Exclude.MaxSize = config.Bytes(size.number("min")), config.Bytes(size.number("max"))
			r.noteUnknown(size.where, size.values, "min", "max")
		}
	}
}

func (r *Result) noteFlag(o object, key, why string) {
	if o.flag(key) {
		r.addNote("%s%s: not taken: %s", o.where, key, why)
	}
}

func (r *Result) fillBitbucket(c *config.Connection, o object) (own, excluded []string) {
	own, excluded = []string{"user", "gitUser", "deploymentType", "all", "workspaces", "projects", "repos"}, []string{"archived", "forks",
		"repos"}
	c.User, c.Clone.User = o.text("user"), o.text("gitUser")
	if o.text("deploymentType") == "server" {
		c.Kind, c.Discover.All = code.BitbucketServer, o.flag("all")
		return own, excluded
	}
	c.Kind = code.BitbucketCloud
	c.URL = dropDefault(dropDefault(c.URL, "https://bitbucket.org"), "https://api.bitbucket.org/2.0")
	r.noteFlag(o, "all", "it is for Bitbucket Server alone")
	return own, excluded
}

// fillGeneric adds a repository by its clone URL, or the repositories on disk that match
// a glob.
func (r *Result) fillGeneric(c *config.Connection, where, address string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || address == "":
		r.addNote("%s: not a URL, not taken", where)
		return
	case u.User != nil:
		r.addNote("%s: it holds a user or a password, which was left out: set token to env:NAME or file:PATH", where)
		u.User = nil
		address = u.String()
	}
	c.Discover.Repos = []string{address}
	if directory, ok := strings.CutPrefix(address, "file://"); ok {
		root := path.Dir(directory)
		if i := strings.IndexAny(directory, "*?[{"); i >= 0 {
			root = path.Dir(directory[:i] + "x")
		}
		r.allowRoot(root)
		r.addNote("%s: repositories on disk are read below git.allowedRoots; check that it holds nothing else", where)
	}
}

func (r *Result) allowRoot(root string) {
	for _, known := range r.Config.Git.AllowedRoots {
		if known == root {
			return
		}
	}
	r.Config.Git.AllowedRoots = append(r.Config.Git.AllowedRoots, root)
}

// addApps adds GitHub Apps to the connections of their host that have no token.
func (r *Result) addApps(top object) {
	apps, _ := top.values["apps"].([]any)
	for i, app := range apps {
		values, _ := app.(map[string]any)
		o := object{r, fmt.Sprintf("apps[%d].", i), values}
		r.noteUnknown(o.where, values, "type", "id", "privateKey", "deploymentHostname")
		var id int
		_, err := fmt.Sscan(fmt.Sprint(values["id"]), &id)
		if o.text("type") != "github" || err != nil || id <= 0 {
			r.addNote("apps[%d]: not a GitHub App with a numeric id, not taken", i)
			continue
		}
		host, used := cmp.Or(o.text("deploymentHostname"), "github.com"), false
		key := r.readReference(o, "privateKey")
		for j := range r.Config.Connections {
			c := &r.Config.Connections[j]
			u, _ := url.Parse(cmp.Or(c.URL, "https://github.com"))
			if c.Kind == code.GitHub && u != nil && u.Host == host && c.Token.IsZero() && !key.IsZero() {
				c.App, used = config.GitHubApp{ID: id, PrivateKey: key}, true
			}
		}
		if !used {
			r.addNote("apps[%d]: no connection to %.80s without a token uses it, not taken", i, host)
		}
	}
}

// addSettings converts the settings that have a counterpart.
func (r *Result) addSettings(o object) {
	milliseconds := func(key string) config.Duration {
		return config.Duration(time.Duration(min(o.number(key), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond)
	}
	r.Config.Pipeline.MaxFileBytes = config.Bytes(o.number("maxFileSize"))
	r.Config.Pipeline.ReconcileInterval = milliseconds("reindexIntervalMs")
	r.Config.Discovery.Interval = milliseconds("resyncConnectionIntervalMs")
	r.Config.Discovery.Concurrency = int(o.number("maxConnectionSyncJobConcurrency"))
	r.Config.Pipeline.Concurrency = int(o.number("maxRepoIndexingJobConcurrency"))
	for _, key := range sortedKeys(o.values) {
		switch key {
		case "maxFileSize", "reindexIntervalMs", "resyncConnectionIntervalMs", "maxConnectionSyncJobConcurrency", "maxRepoIndexingJobConcurrency":
		case "maxTrigramCount":
			r.addNote("settings.%s: not needed: files are indexed whatever number of trigrams they have", key)
		case "repoDrivenPermissionSyncIntervalMs", "userDrivenPermissionSyncIntervalMs", "maxAccountPermissionSyncJobConcurrency", "maxRepoPermissionSyncJobConcurrency", "experiment_repoDrivenPermissionSyncIntervalMs", "experiment_userDrivenPermissionSyncIntervalMs":
			r.addNote("settings.%s: not taken: set permissions.interval of a connection", key)
		case "enablePublicAccess":
			r.addNote("settings.enablePublicAccess: not taken; access.anonymous says who may read without signing in")
		case "repoIndexTimeoutMs", "repoGarbageCollectionGracePeriodMs", "repoIndexingPollingIntervalMs", "resyncConnectionPollingIntervalMs", "reindexRepoPollingIntervalMs", "maxRepoGarbageCollectionJobConcurrency":
			r.addNote("settings.%s: without effect there, not taken", key)
		default:
			r.addNote("settings.%.80s: unknown key, not taken", key)
		}
	}
}

// addContext converts a search context that consists of globs.
func (r *Result) addContext(name string, o object) {
	r.noteUnknown(o.where, o.values, "include", "includeConnections", "includeTopics", "exclude", "excludeConnections", "excludeTopics",
		"description")
	for _, key := range []string{"includeConnections", "includeTopics", "excludeConnections", "excludeTopics"} {
		if len(o.list(key)) == 0 {
			continue
		}
		if strings.HasPrefix(key, "exclude") {
			r.addNote("%s%s: contexts are made of globs on names: the context was left out, since it would have more repositories; write them to query.contexts", o.where, key)
			return
		}
		r.addNote("%s%s: contexts are made of globs on names: add those of the repositories to query.contexts", o.where, key)
	}
	include := r.checkGlobs(o.where+"include", o.list("include"))
	if len(include) == 0 {
		r.addNote("contexts.%s: it includes nothing by name, not taken", name)
		return
	}
	if o.text("description") != "" {
		r.addNote("%sdescription: contexts have none, not taken", o.where)
	}
	r.setOrigin(o.where, contextList, name)
	r.Config.Query.Contexts = append(r.Config.Query.Contexts,
		config.Context{Name: name, Include: include, Exclude: r.checkGlobs(o.where+"exclude", o.list("exclude"))})
}
