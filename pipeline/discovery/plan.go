package discovery

import (
	"reflect"
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// planEvent returns the event that makes the registration equal to the host's
// description, or nil if it already is. known is nil if the repository is not registered;
// owned means that it belongs to another configured connection.
func planEvent(c *Connection, known *code.Repository, found code.Repository, owned bool) event.Event {
	c.applySettings(&found)
	if known == nil {
		return &event.RepositoryRegistered{Repository: found}
	}
	if owned {
		return nil
	}
	// A known identity is kept, even if the repository was found by its clone URL.
	found.ID, found.Kind = known.ID, known.Kind
	if known.Connection == "" {
		// Registered manually: its settings are kept.
		found.Connection, found.Branches, found.Tags, found.Submodules = "", known.Branches, known.Tags, known.Submodules
		found.Name, found.DisplayName, found.CloneURL = known.Name, known.DisplayName, known.CloneURL
	}
	if found.DefaultBranch == "" {
		found.DefaultBranch = known.DefaultBranch
	}
	if equalRepositories(known, &found) {
		return nil
	}
	return &event.RepositoryChanged{Repository: found}
}

// applySettings assigns a repository to the connection and gives it its settings.
func (c *Connection) applySettings(r *code.Repository) {
	r.Connection, r.Branches, r.Tags, r.Submodules = c.Name, c.Branches, c.Tags, c.Submodules
}

func equalRepositories(a, b *code.Repository) bool {
	x, y := *a, *b
	x.Branches, y.Branches, x.Tags, y.Tags = nil, nil, nil, nil
	return slices.Equal(a.Branches, b.Branches) && slices.Equal(a.Tags, b.Tags) && reflect.DeepEqual(x, y)
}

// Bounds of a removal that needs no confirmation.
const (
	// minQuestioned repositories may always be removed.
	minQuestioned = 10
	// If there are more, at most one half may be removed.
	maxRemovedShare = 2
)

// questionsRemoval reports whether the removal of this many repositories of a connection
// must be confirmed.
func questionsRemoval(removed, all int) bool {
	return removed > minQuestioned && removed*maxRemovedShare > all
}
