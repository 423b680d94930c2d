package accounts

import (
	"maps"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// savedSearches holds the saved searches of all users. Its values are replaced, never
// modified.
type savedSearches struct {
	byID   map[account.SavedSearchID]*account.SavedSearch
	byUser map[account.UserID]map[account.SavedSearchID]*account.SavedSearch
	shared map[account.SavedSearchID]*account.SavedSearch
}

func newSavedSearches() savedSearches {
	return savedSearches{
		byID:   map[account.SavedSearchID]*account.SavedSearch{},
		byUser: map[account.UserID]map[account.SavedSearchID]*account.SavedSearch{},
		shared: map[account.SavedSearchID]*account.SavedSearch{},
	}
}

func (l *savedSearches) put(q *account.SavedSearch) {
	l.byID[q.ID] = q
	if l.byUser[q.User] == nil {
		l.byUser[q.User] = map[account.SavedSearchID]*account.SavedSearch{}
	}
	l.byUser[q.User][q.ID] = q
	if delete(l.shared, q.ID); q.Shared {
		l.shared[q.ID] = q
	}
}

func (l *savedSearches) remove(id account.SavedSearchID) {
	q := l.byID[id]
	if q == nil {
		return
	}
	delete(l.byID, id)
	delete(l.shared, id)
	if delete(l.byUser[q.User], id); len(l.byUser[q.User]) == 0 {
		delete(l.byUser, q.User)
	}
}

// countShared returns the number of searches that a user shares.
func (l *savedSearches) countShared(user account.UserID) int {
	n := 0
	for _, q := range l.byUser[user] {
		if q.Shared {
			n++
		}
	}
	return n
}

type savedSearchRow struct {
	User          account.UserID `json:"user"`
	Name          string         `json:"name"`
	Query         string         `json:"query"`
	Regexp        bool           `json:"regexp,omitempty"`
	CaseSensitive bool           `json:"caseSensitive,omitempty"`
	Shared        bool           `json:"shared,omitempty"`
	CreatedAt     time.Time      `json:"createdAt"`
	UpdatedAt     time.Time      `json:"updatedAt"`
}

func (r *savedSearchRow) toSavedSearch(id account.SavedSearchID) *account.SavedSearch {
	return &account.SavedSearch{
		ID: id, User: r.User, Name: r.Name, Query: r.Query, Regexp: r.Regexp, CaseSensitive: r.CaseSensitive, Shared: r.Shared,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

func (c *change) putSavedSearch(q *account.SavedSearch) error {
	c.addEffect(func(s *state) { s.searches.put(q) })
	return write(c.b, rowKey(kindSavedSearch, q.ID), &savedSearchRow{
		q.User, q.Name, q.Query, q.Regexp, q.CaseSensitive, q.Shared, q.CreatedAt, q.UpdatedAt,
	})
}

func (c *change) dropSavedSearch(id account.SavedSearchID) error {
	c.addEffect(func(s *state) { s.searches.remove(id) })
	return c.b.Delete(rowKey(kindSavedSearch, id))
}

// dropSavedSearches removes the saved searches of a removed user, including shared ones.
func (c *change) dropSavedSearches(user account.UserID) error {
	for id := range c.s.searches.byUser[user] {
		if err := c.dropSavedSearch(id); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) savedSearchChanged(e *event.SavedSearchChanged) (Refusal, error) {
	old := c.s.searches.byID[e.Search]
	if e.Change == event.SavedSearchCreated {
		switch {
		case old != nil:
			return IDTaken, nil
		case len(c.s.searches.byUser[e.User]) >= MaxSavedSearchesPerUser || len(c.s.searches.byID) >= MaxSavedSearches:
			return TooMany, nil
		}
	} else if old == nil || old.User != e.User {
		return SearchGone, nil
	}
	if e.Change == event.SavedSearchDeleted {
		return "", c.dropSavedSearch(e.Search)
	}
	if why := c.activeUser(e.User); why != "" {
		return why, nil
	}
	for id, q := range c.s.searches.byUser[e.User] {
		if id != e.Search && q.Name == e.Name {
			return NameTaken, nil
		}
	}
	if e.Shared && (old == nil || !old.Shared) && (len(c.s.searches.shared) >= MaxSharedSearches || c.s.searches.countShared(e.User) >= MaxSharedSearchesPerUser) {
		return TooMany, nil
	}
	next := &account.SavedSearch{
		ID: e.Search, User: e.User, Name: e.Name, Query: e.Query, Regexp: e.Regexp, CaseSensitive: e.CaseSensitive, Shared: e.Shared,
		CreatedAt: e.At.UTC(), UpdatedAt: e.At.UTC(),
	}
	if old != nil {
		next.CreatedAt = old.CreatedAt
	}
	return "", c.putSavedSearch(next)
}

// SavedSearch returns the saved search with that ID.
func (d *Directory) SavedSearch(id account.SavedSearchID) (*account.SavedSearch, bool) {
	return findValue(d, func(s *state) map[account.SavedSearchID]*account.SavedSearch { return s.searches.byID }, id)
}

// SavedSearches returns the saved searches of a user, followed by those that other users
// share, both ordered by name. The caller may modify the slice.
func (d *Directory) SavedSearches(user account.UserID) []*account.SavedSearch {
	d.mu.RLock()
	found := slices.Collect(maps.Values(d.mu.state.searches.byUser[user]))
	for _, q := range d.mu.state.searches.shared {
		if q.User != user {
			found = append(found, q)
		}
	}
	d.mu.RUnlock()
	slices.SortFunc(found, account.OrderSavedSearches(user))
	return found
}
