package discovery

import (
	"reflect"
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// planEvent returns the event that makes what is registered equal to what the host says,
// nil if it is. known is nil for a repository that is not registered; owned says that the
// repository belongs to another connection, which is configured.
func planEvent(c *Connection, known *code.Repository, found code.Repository, owned bool) event.Event {
	found.Connection, found.Branches, found.Tags = c.Name, c.Branches, c.Tags
	if known == nil {
		return &event.RepositoryRegistered{Repository: found}
	}
	if owned {
		return nil
	}
	// An identity that is known stays, also of one that was found by its clone URL.
	found.ID, found.Kind = known.ID, known.Kind
	if known.Connection == "" {
		// Registered by hand: what was decided there stays.
		found.Connection, found.Branches, found.Tags = "", known.Branches, known.Tags
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

func equalRepositories(a, b *code.Repository) bool {
	x, y := *a, *b
	x.Branches, y.Branches, x.Tags, y.Tags = nil, nil, nil, nil
	return slices.Equal(a.Branches, b.Branches) && slices.Equal(a.Tags, b.Tags) && reflect.DeepEqual(x, y)
}

// Bounds of a removal that is believed without a question.
const (
	// minQuestioned repositories may always go at once.
	minQuestioned = 10
	// Of more, a half.
	maxRemovedShare = 2
)

// questionsRemoval reports whether a removal of so many repositories of a connection is to be
// confirmed.
func questionsRemoval(removed, all int) bool {
	return removed > minQuestioned && removed*maxRemovedShare > all
}
