package event

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TypeSavedSearchChanged is an event of TopicAccounts.
const TypeSavedSearchChanged Type = "dev.quarry.savedsearch.changed.v1"

// SavedSearchChange is a kind of change of a saved search.
type SavedSearchChange string

// The changes of a saved search.
const (
	SavedSearchCreated  SavedSearchChange = "created"
	SavedSearchReplaced SavedSearchChange = "replaced" // all fields, including unchanged ones
	SavedSearchDeleted  SavedSearchChange = "deleted"
)

// SavedSearchChanged creates, replaces or deletes a saved search of a user. It has no
// effect if the user already has another one with that name.
type SavedSearchChanged struct {
	Search account.SavedSearchID `json:"search"`
	User   account.UserID        `json:"user"`
	Change SavedSearchChange     `json:"change"`
	// The remaining fields are empty if the search is deleted.
	Name          string        `json:"name,omitempty"`
	Query         string        `json:"query,omitempty"`
	Regexp        bool          `json:"regexp,omitempty"`
	CaseSensitive bool          `json:"caseSensitive,omitempty"`
	Shared        bool          `json:"shared,omitempty"`
	By            account.Actor `json:"by"`
	At            time.Time     `json:"at"`
}

// EventType implements Event.
func (*SavedSearchChanged) EventType() Type { return TypeSavedSearchChanged }

// Key implements Event.
func (*SavedSearchChanged) Key() code.RepositoryID { return 0 }

func (c *checker) checkSavedSearchChanged(e *SavedSearchChanged) {
	c.checkAccountID("search", string(e.Search))
	c.checkAccountID("user", string(e.User))
	switch e.Change {
	case SavedSearchCreated, SavedSearchReplaced:
		c.checkText("name", e.Name, 1, account.MaxSavedNameBytes)
		c.checkQuery("query", e.Query)
	case SavedSearchDeleted:
		if e.Name != "" || e.Query != "" || e.Regexp || e.CaseSensitive || e.Shared {
			c.addErrorf("change: %s has a field that is not its own", e.Change)
		}
	default:
		c.addErrorf("change: %.80q is unknown", string(e.Change))
	}
	c.checkActorAndTime(e.By, e.At)
}

// checkQuery checks the text of a query, which may have several lines.
func (c *checker) checkQuery(field, s string) {
	if s == "" || len(s) > account.MaxSavedQueryBytes {
		c.addErrorf("%s: %d bytes, want 1 to %d", field, len(s), account.MaxSavedQueryBytes)
		return
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, account.IsQueryControl) {
		c.addErrorf("%s: %.80q, want UTF-8 without control characters", field, s)
	}
}
