package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/schemas/code"
)

// addHound converts a configuration of Hound, which lists repositories by clone URL.
func (r *Result) addHound(text []byte) error {
	top := object{r: r}
	if err := decodeJSON(text, &top.values); err != nil {
		return err
	}
	repositories := top.child("repos")
	if repositories.values == nil {
		return fmt.Errorf("%w: it has no repos", ErrFormat)
	}
	r.noteUnknown("", top.values, "repos", "dbpath", "title", "max-concurrent-indexers", "health-check-uri", "vcs-config",
		"repos-metadata", "basic-auth")
	r.Config.Pipeline.Concurrency = int(top.number("max-concurrent-indexers"))
	for _, key := range []string{"title", "health-check-uri", "vcs-config", "basic-auth"} {
		if top.values[key] != nil {
			r.addNote("%s: not taken", key)
		}
	}
	groups := make(map[houndGroup]*houndRepositories)
	for _, name := range sortedKeys(repositories.values) {
		r.addHoundRepository(name, repositories.child(name), groups)
	}
	r.addHoundGroups(groups)
	return nil
}

// houndGroup identifies repositories that can share one connection.
type houndGroup struct{ scheme, host, branch string }

// houndRepositories are the clone URLs of a group, and the keys of the file that have
// them.
type houndRepositories struct{ clones, keys []string }

func (r *Result) addHoundRepository(name string, o object, groups map[houndGroup]*houndRepositories) {
	r.noteUnknown(o.where, o.values, "url", "vcs", "vcs-config", "ms-between-poll", "url-pattern", "exclude-dot-files", "display-name",
		"enable-poll-updates", "enable-push-updates", "auto-generated-files")
	if vcs := o.text("vcs"); vcs != "" && vcs != "git" {
		r.addNote("repos.%s: %.20s is not git, not taken", name, vcs)
		return
	}
	u, err := url.Parse(o.text("url"))
	clone := o.text("url")
	switch {
	case err == nil && u.User != nil && u.Scheme != "ssh":
		r.addNote("repos.%s.url: it holds a user or a password, which was left out: set token to env:NAME or file:PATH", name)
		u.User = nil
		clone = u.String()
	case err == nil && u.Host == "www.github.com":
		u.Host = "github.com"
		clone = u.String()
	}
	parsed, err := code.ParseCloneURL(clone)
	if err != nil {
		r.addNote("repos.%s.url: not a clone URL, not taken", name)
		return
	}
	settings := o.child("vcs-config")
	group := houndGroup{scheme: parsed.Scheme, host: parsed.Host, branch: settings.text("ref")}
	if settings.values["username"] != nil || settings.values["password"] != nil {
		r.addNote("repos.%s.vcs-config: user and password are not copied: set user, and token to env:NAME or file:PATH", name)
	}
	r.noteUnknown(settings.where, settings.values, "ref", "detect-ref", "username", "password")
	for _, key := range []string{"url-pattern", "exclude-dot-files", "display-name", "enable-push-updates", "enable-poll-updates",
		"auto-generated-files"} {
		if o.values[key] != nil && o.values[key] != false {
			r.addNote("repos.*.%s: not taken", key)
		}
	}
	if poll := config.Duration(time.Duration(min(o.number("ms-between-poll"),
		int64(time.Hour/time.Millisecond))) * time.Millisecond); poll > 0 {
		if current := r.Config.Pipeline.ReconcileInterval; current == 0 || poll < current {
			r.Config.Pipeline.ReconcileInterval = poll
		}
		r.addNote("repos.*.ms-between-poll: the shortest counts for all repositories (pipeline.reconcileInterval); a webhook makes polling unnecessary")
	}
	repositories := groups[group]
	if repositories == nil {
		repositories = new(houndRepositories)
		groups[group] = repositories
	}
	repositories.keys = append(repositories.keys, o.where)
	if parsed.Scheme == "file" {
		directory := "/" + parsed.Path
		r.allowRoot(directory)
		r.addNote("repos.%s: a directory is indexed if it is a git repository", name)
		repositories.clones = append(repositories.clones, "file://"+directory)
		return
	}
	if group.scheme == "https" && group.host == "github.com" {
		clone = parsed.Path
	}
	if !slices.Contains(repositories.clones, clone) {
		repositories.clones = append(repositories.clones, clone)
	}
}

func (r *Result) addHoundGroups(groups map[houndGroup]*houndRepositories) {
	sorted := slices.SortedFunc(maps.Keys(groups), func(a, b houndGroup) int {
		return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.branch, b.branch), strings.Compare(a.scheme, b.scheme))
	})
	for _, group := range sorted {
		repositories := groups[group]
		c := config.Connection{Kind: code.GenericGitHost, Name: strings.Trim(group.host+"-"+group.branch, "-")}
		if group.scheme == "ssh" {
			c.Name += "-ssh"
		}
		if group.scheme == "file" {
			c.Name = strings.Trim("disk-"+group.branch, "-")
		}
		c.Discover.Repos = repositories.clones
		if group.scheme == "https" && group.host == "github.com" {
			c.Kind = code.GitHub
		}
		if group.branch != "" {
			c.Branches = []string{group.branch}
			r.addNote("repos.*.vcs-config.ref: the default branch is indexed as well")
		}
		r.addConnection(c, repositories.keys...)
	}
}
