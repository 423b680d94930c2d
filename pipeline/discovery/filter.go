package discovery

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// Filter excludes found repositories.
type Filter struct {
	Forks, Archived, UserOwned, ReadOnly, Hidden, Disabled bool
	// Repos and Projects are globs on Found.Path, Topics on any of Found.Topics.
	Repos, Projects, Topics []string
	// MinSize and MaxSize bound Found.SizeBytes if the host reports it; 0 means no bound.
	MinSize, MaxSize int64
}

// Excludes reports whether a repository is excluded.
func (f *Filter) Excludes(r *Found) bool {
	switch {
	case f.Forks && r.Fork, f.Archived && r.Archived, f.UserOwned && r.UserOwned,
		f.ReadOnly && r.ReadOnly, f.Hidden && r.Hidden, f.Disabled && r.Disabled:
		return true
	case r.SizeBytes > 0 && (r.SizeBytes < f.MinSize || f.MaxSize > 0 && r.SizeBytes > f.MaxSize):
		return true
	}
	return matchesAny(f.Repos, r.Path) || matchesAny(f.Projects, r.Path) || hasTopic(f.Topics, r.Topics)
}

// selectsTopics reports whether a repository has one of the selected topics.
func (t *Targets) selectsTopics(r *Found) bool {
	return len(t.Topics) == 0 || hasTopic(t.Topics, r.Topics)
}

func hasTopic(globs, topics []string) bool {
	return slices.ContainsFunc(topics, func(topic string) bool { return matchesAny(globs, topic) })
}

// matchesAny ignores case, because hosts do.
func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		return mirror.MatchGlob(strings.ToLower(glob), strings.ToLower(name))
	})
}
