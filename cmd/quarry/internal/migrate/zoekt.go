package migrate

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/schemas/code"
)

// addZoektMirror converts the -mirror_config of zoekt-indexserver: a list of entries,
// each of which runs one of its mirror programs.
func (r *Result) addZoektMirror(text []byte) error {
	var entries []map[string]any
	if err := decodeJSON(text, &entries); err != nil {
		return err
	}
	for i, values := range entries {
		r.addZoektEntry(object{r, fmt.Sprintf("[%d].", i), values})
	}
	return nil
}

// zoektKeys are the keys of an entry.
var zoektKeys = []string{
	"GithubUser", "GithubOrg", "GitHubURL", "GitilesURL", "CGitURL", "BitBucketServerURL", "BitBucketServerProject", "DisableTLS",
	"CredentialPath",
	"ProjectType", "Name", "Exclude", "GitLabURL", "OnlyPublic", "GerritApiURL", "Topics", "ExcludeTopics", "Active", "NoArchived", "Forks",
	"GerritFetchMetaConfig", "GerritRepoNameFormat", "ExcludeUserRepos", "GiteaURL",
}

func (r *Result) addZoektEntry(o object) {
	r.noteUnknown(o.where, o.values, zoektKeys...)
	c := config.Connection{}
	switch {
	case o.text("GitHubURL") != "" || o.text("GithubUser") != "" || o.text("GithubOrg") != "":
		r.fillZoektGitHub(&c, o)
	case o.text("GitilesURL") != "" || o.text("CGitURL") != "":
		r.addNote("%s: Gitiles and cgit are not listed; name the clone URLs in discover.repos of a connection of kind genericGitHost",
			strings.TrimSuffix(o.where, "."))
		return
	case o.text("BitBucketServerURL") != "":
		r.fillZoektBitbucket(&c, o)
	case o.text("GitLabURL") != "":
		c.Kind, c.Discover.All = code.GitLab, true
		c.Name = "gitlab"
		c.URL = dropDefault(strings.TrimSuffix(r.cleanURL(o.where+"GitLabURL", o.text("GitLabURL")), "/api/v4"), "https://gitlab.com")
		if c.URL == "" {
			c.Discover.All = false
			r.addNote("%sGitLabURL: name the groups and users of gitlab.com in discover, entry not taken", o.where)
			return
		}
		if o.flag("OnlyPublic") {
			r.addNote("%sOnlyPublic: use a token that can read nothing else", o.where)
		}
	case o.text("GerritApiURL") != "":
		c.Kind, c.Discover.All, c.Name = code.Gerrit, true, "gerrit"
		c.URL = r.cleanURL(o.where+"GerritApiURL", o.text("GerritApiURL"))
		c.Exclude.ReadOnly, c.Exclude.Hidden = o.flag("Active"), o.flag("Active")
	case o.text("GiteaURL") != "":
		c.Kind, c.Discover.All, c.Name = code.Gitea, true, "gitea"
		c.URL = dropDefault(r.cleanURL(o.where+"GiteaURL", o.text("GiteaURL")), "https://gitea.com")
	default:
		r.addNote("%s: it names no code host, not taken", strings.TrimSuffix(o.where, "."))
		return
	}
	r.fillZoektFilters(&c, o)
	r.fillZoektCredential(&c, o)
	if !c.Discovers() {
		r.addNote("%s: it names no repositories that can be listed here, not taken", strings.TrimSuffix(o.where, "."))
		return
	}
	r.addConnection(c, o.where)
}

func (r *Result) fillZoektGitHub(c *config.Connection, o object) {
	c.Kind = code.GitHub
	c.URL = dropDefault(strings.TrimSuffix(r.cleanURL(o.where+"GitHubURL", o.text("GitHubURL")), "/api/v3"), "https://github.com")
	if user := o.text("GithubUser"); user != "" {
		c.Discover.Users = []string{user}
	} else if org := o.text("GithubOrg"); org != "" {
		c.Discover.Orgs = []string{org}
	}
	c.Name = "github-" + cmp.Or(o.text("GithubUser"), o.text("GithubOrg"), "all")
	c.Discover.Topics, c.Exclude.Topics = o.list("Topics"), o.list("ExcludeTopics")
	c.Exclude.Archived = o.flag("NoArchived")
	// Without the flag, the program omits forks.
	c.Exclude.Forks = !o.flag("Forks")
	if c.Exclude.Forks {
		r.addNote("%s: forks are excluded, as there; remove exclude.forks to index them", strings.TrimSuffix(o.where, "."))
	}
}

func (r *Result) fillZoektBitbucket(c *config.Connection, o object) {
	address := o.text("BitBucketServerURL")
	if !strings.Contains(address, "://") {
		scheme := "https://"
		if o.flag("DisableTLS") {
			scheme = "http://"
		}
		address = scheme + address
	}
	c.Kind, c.Name, c.URL = code.BitbucketServer, "bitbucket-server", r.cleanURL(o.where+"BitBucketServerURL", address)
	if project := o.text("BitBucketServerProject"); project != "" {
		c.Discover.Projects = []string{project}
	} else {
		c.Discover.All = true
	}
	switch strings.ToUpper(o.text("ProjectType")) {
	case "":
	case "NORMAL":
		c.Exclude.UserOwned = true
	default:
		r.addNote("%sProjectType: repositories of users alone cannot be selected, not taken", o.where)
	}
}

// fillZoektFilters converts the regular expressions on names that have an equivalent
// glob.
func (r *Result) fillZoektFilters(c *config.Connection, o object) {
	if o.text("Name") != "" {
		r.addNote("%sName: repositories are not selected by a regular expression on names: all of them are registered; exclude the others, or name them in discover.repos", o.where)
	}
	exclude := o.text("Exclude")
	if exclude == "" {
		return
	}
	glob, ok := toGlob(exclude)
	switch {
	case ok && (c.Kind == code.GitHub || c.Kind == code.Gitea || c.Kind == code.BitbucketServer):
		c.Exclude.Repos = []string{"*/" + glob} // these programs match the name without its owner
	case ok && (c.Kind == code.GitLab || c.Kind == code.Gerrit):
		c.Exclude.Projects = []string{glob}
	default:
		r.addNote("%sExclude: the regular expression %.80q has no glob that says the same: the repositories are registered", o.where, exclude)
	}
}

var (
	regexpMeta  = regexp.MustCompile(`[\\.+*?()|\[\]{}^$]`)
	escapedMeta = strings.NewReplacer(`\.`, ".", `\-`, "-", `\/`, "/", `\_`, "_")
)

// toGlob converts a regular expression on names to an equivalent glob, if the expression
// consists of literal text, .* and anchors.
func toGlob(expression string) (string, bool) {
	body, fromStart := strings.CutPrefix(expression, "^")
	body, toEnd := strings.CutSuffix(body, "$")
	parts := strings.Split(body, ".*")
	for i, part := range parts {
		parts[i] = escapedMeta.Replace(part)
		if regexpMeta.MatchString(strings.NewReplacer(`\.`, "", `\-`, "", `\/`, "", `\_`, "").Replace(part)) {
			return "", false
		}
	}
	glob := strings.Join(parts, "**")
	if !fromStart {
		glob = "**" + glob
	}
	if !toEnd {
		glob += "**"
	}
	return strings.ReplaceAll(glob, "****", "**"), true
}

// fillZoektCredential refers to the file of a token. Two programs expect a user in it.
func (r *Result) fillZoektCredential(c *config.Connection, o object) {
	file := o.text("CredentialPath")
	switch {
	case file == "" && (c.Kind == code.GitHub || c.Kind == code.GitLab):
		r.addNote("%s: the token of the home directory is not read; set token to file:PATH", strings.TrimSuffix(o.where, "."))
	case file == "":
	case c.Kind == code.GitHub || c.Kind == code.GitLab || c.Kind == code.Gitea:
		c.Token = config.NewSecret("file:" + file)
	default:
		r.addNote("%sCredentialPath: the file has a user and a password: set user, and token to the file of the password alone", o.where)
	}
}
