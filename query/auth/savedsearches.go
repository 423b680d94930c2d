package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxSavedSearches bounds the saved searches of one user; the directory bounds the total.
const maxSavedSearches = 100

// SavedSearchEdit holds the new values of a saved search; nil leaves a value unchanged.
type SavedSearchEdit struct {
	Name, Query                   *string
	Regexp, CaseSensitive, Shared *bool
}

// SavedSearches returns the saved searches that p may read: the user's own by name, then
// those that other users share. A restricted credential reads none, because the text of a
// query may name repositories outside the restriction.
func (s *Service) SavedSearches(p *Principal) ([]*account.SavedSearch, error) {
	if err := needWholeUser(p); err != nil {
		return nil, err
	}
	return s.o.Directory.SavedSearches(p.Actor.User), nil
}

// SavedSearch returns a saved search that p may read.
func (s *Service) SavedSearch(p *Principal, id account.SavedSearchID) (*account.SavedSearch, error) {
	if err := needWholeUser(p); err != nil {
		return nil, err
	}
	q, found := s.o.Directory.SavedSearch(id)
	if !found || q.User != p.Actor.User && !q.Shared {
		return nil, fmt.Errorf("%w: %.80q", ErrSavedSearchNotFound, string(id))
	}
	return q, nil
}

// needWholeUser requires a credential that is not restricted to repositories.
func needWholeUser(p *Principal) error {
	if p.Anonymous() {
		return ErrUnauthenticated
	}
	if p.Repositories != nil {
		return fmt.Errorf("%w: a credential restricted to repositories cannot read saved searches", ErrForbidden)
	}
	return p.Need(account.ScopeSearch)
}

// SaveSearch saves a search under a name.
func (s *Service) SaveSearch(ctx context.Context, p *Principal, edit SavedSearchEdit) (*account.SavedSearch, error) {
	user, err := s.needPerson(p)
	if err != nil {
		return nil, err
	}
	own := s.ownSavedSearches(user.ID)
	if len(own) >= maxSavedSearches {
		return nil, fmt.Errorf("%w: a user has at most %d saved searches; delete some", ErrTooMany, maxSavedSearches)
	}
	q := account.SavedSearch{ID: account.SavedSearchID(newID()), User: user.ID}
	return s.putSavedSearch(ctx, p, q, edit, event.SavedSearchCreated)
}

// ChangeSavedSearch changes a saved search of p's user.
func (s *Service) ChangeSavedSearch(ctx context.Context, p *Principal, id account.SavedSearchID, edit SavedSearchEdit) (*account.SavedSearch, error) {
	user, err := s.needPerson(p)
	if err != nil {
		return nil, err
	}
	q, err := s.SavedSearch(p, id)
	if err != nil {
		return nil, err
	}
	if q.User != user.ID {
		return nil, fmt.Errorf("%w: only the user who saved a search may change it", ErrForbidden)
	}
	return s.putSavedSearch(ctx, p, *q, edit, event.SavedSearchReplaced)
}

// putSavedSearch appends q with the values of edit, unless nothing changes.
func (s *Service) putSavedSearch(ctx context.Context, p *Principal, q account.SavedSearch, edit SavedSearchEdit, change event.SavedSearchChange) (*account.SavedSearch, error) {
	before := q
	if edit.Name != nil {
		q.Name = *edit.Name
	}
	if edit.Query != nil {
		q.Query = *edit.Query
	}
	for field, value := range map[*bool]*bool{&q.Regexp: edit.Regexp, &q.CaseSensitive: edit.CaseSensitive, &q.Shared: edit.Shared} {
		if value != nil {
			*field = *value
		}
	}
	var err error
	if q.Name, err = normalName("name", q.Name, 1, account.MaxSavedNameBytes); err != nil {
		return nil, err
	}
	if q.Query, err = normalizeQuery(q.Query); err != nil {
		return nil, err
	}
	if q == before {
		return &before, nil
	}
	sameName := func(other *account.SavedSearch) bool { return other.Name == q.Name && other.ID != q.ID }
	if slices.ContainsFunc(s.ownSavedSearches(q.User), sameName) {
		return nil, fmt.Errorf("%w: %q", ErrSavedSearchExists, q.Name)
	}
	if s.replacesContext(&before, &q) {
		return nil, invalidField("name", "another user shares a search context with this name; choose another name")
	}
	ev := &event.SavedSearchChanged{
		Search: q.ID, User: q.User, Change: change, Name: q.Name, Query: q.Query, Regexp: q.Regexp, CaseSensitive: q.CaseSensitive, Shared: q.Shared,
		By: p.Actor, At: s.nowUTC(),
	}
	if err := s.appendChange(ctx, ev); err != nil {
		return nil, err
	}
	got, found := s.o.Directory.SavedSearch(q.ID)
	switch {
	case found && got.Name == q.Name && got.Query == q.Query && got.Shared == q.Shared:
		return got, nil
	case slices.ContainsFunc(s.ownSavedSearches(q.User), sameName):
		return nil, fmt.Errorf("%w: %q", ErrSavedSearchExists, q.Name)
	case found || change == event.SavedSearchCreated:
		return nil, fmt.Errorf("%w: the limit of saved searches, or of shared ones per user or in total, is reached; delete some, or do not share this one", ErrTooMany)
	}
	return nil, ErrConflict
}

func (s *Service) ownSavedSearches(user account.UserID) []*account.SavedSearch {
	return slices.DeleteFunc(s.o.Directory.SavedSearches(user), func(q *account.SavedSearch) bool { return q.User != user })
}

// normalizeQuery returns the text of a query without surrounding space and with plain
// line feeds, because forms send carriage returns as well.
func normalizeQuery(text string) (string, error) {
	query := strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if query == "" || len(query) > account.MaxSavedQueryBytes || !utf8.ValidString(query) || strings.ContainsFunc(query, account.IsQueryControl) {
		return "", invalidField("query", "want 1 to %d bytes of text", account.MaxSavedQueryBytes)
	}
	return query, nil
}

// DeleteSavedSearch deletes a saved search of p's user. Owners may also delete shared
// searches of other users.
func (s *Service) DeleteSavedSearch(ctx context.Context, p *Principal, id account.SavedSearchID) error {
	if _, err := s.needPerson(p); err != nil {
		return err
	}
	q, err := s.SavedSearch(p, id)
	if err != nil {
		return err
	}
	if q.User != p.Actor.User && !p.Owner() {
		return fmt.Errorf("%w: only the user who saved a search, or an owner, may delete it", ErrForbidden)
	}
	return s.appendChange(ctx, &event.SavedSearchChanged{Search: q.ID, User: q.User, Change: event.SavedSearchDeleted, By: p.Actor, At: s.nowUTC()})
}
