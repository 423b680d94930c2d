package account

import (
	"cmp"
	"time"
)

// Bounds of a saved search.
const (
	MaxSavedNameBytes  = 100
	MaxSavedQueryBytes = 4096
)

// SavedSearchID names a saved search in links. It is random and grants no access: each
// request is authorized separately.
type SavedSearchID string

// SavedSearch is a query that a user stores under a name. It holds the text of the query
// but no results: each reader gets their own results.
type SavedSearch struct {
	ID   SavedSearchID
	User UserID
	Name string // unique among the saved searches of the user
	// Query is the text; Regexp and CaseSensitive are the switches next to it.
	Query         string
	Regexp        bool
	CaseSensitive bool
	// Shared allows every user of the instance to read the text.
	Shared    bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// IsQueryControl reports whether r is a control character that the text of a saved query
// must not contain. Line feeds and tabs are allowed as separators of terms.
func IsQueryControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
}

// OrderSavedSearches returns a comparison function for the order in which a user sees
// saved searches: the user's own first, then those of other users, both by name.
func OrderSavedSearches(user UserID) func(a, b *SavedSearch) int {
	return func(a, b *SavedSearch) int {
		if own := a.User == user; own != (b.User == user) {
			if own {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	}
}
