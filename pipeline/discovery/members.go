package discovery

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// MemberReader reads which users may read a repository on its host. The Lister of a kind
// implements it if the permissions of that kind can be read.
type MemberReader interface {
	// ReadMembers returns every user who may currently read the files of r. It returns an
	// error if the host has another repository under that name, or if the result may be
	// incomplete.
	ReadMembers(ctx context.Context, r code.Repository) (Members, error)
}

// Members are the users who may read a repository on its host. Both lists are sorted.
type Members struct {
	// Users are the host's user IDs, Emails verified addresses in lower case.
	Users, Emails []string
}

// MemberSet collects Members.
type MemberSet struct{ users, emails map[string]struct{} }

// Add adds a user with an address that the host has verified, or an empty one. Addresses
// that do not fit into an event are left out and grant nothing. It keeps one user more
// than an event can hold, so that Members fails.
func (s *MemberSet) Add(id, email string) {
	if s.users == nil {
		s.users, s.emails = map[string]struct{}{}, map[string]struct{}{}
	}
	if id != "" && len(s.users) <= event.MaxHostUsers {
		s.users[account.ShortenHostUser(id)] = struct{}{}
	}
	email = account.LowerEmail(email)
	if local, domain, ok := strings.Cut(email, "@"); ok && len(s.emails) <= event.MaxHostUsers && local != "" && domain != "" && !strings.ContainsAny(domain, "@ ") && len(email) <= event.MaxHostEmailBytes {
		s.emails[email] = struct{}{}
	}
}

// Members returns the users added, or an error if they are more than an event can hold.
func (s *MemberSet) Members() (Members, error) {
	if max(len(s.users), len(s.emails)) > event.MaxHostUsers {
		return Members{}, hostapi.NewError(hostapi.TooLarge, fmt.Sprintf("more than %d users may read the repository", event.MaxHostUsers))
	}
	return Members{Users: slices.Sorted(maps.Keys(s.users)), Emails: slices.Sorted(maps.Keys(s.emails))}, nil
}

// NewOtherRepositoryError returns the error for a name that now belongs to another
// repository than the registered one: that was renamed, and its name reused.
func NewOtherRepositoryError(r code.Repository) error {
	return hostapi.NewError(hostapi.NotFound, "the host has another repository under the name "+r.DisplayName)
}

// OpenMembers opens the MemberReader of a connection, or returns an error if its kind has
// none.
func OpenMembers(kinds map[code.HostKind]Open, c Connection, client *http.Client) (MemberReader, error) {
	open := kinds[c.Kind]
	if open == nil {
		return nil, fmt.Errorf("connection %s: permissions of kind %q cannot be read", c.Name, c.Kind)
	}
	lister, err := open(c, client)
	if err != nil {
		return nil, err
	}
	reader, ok := lister.(MemberReader)
	if !ok {
		return nil, fmt.Errorf("connection %s: permissions of kind %q cannot be read", c.Name, c.Kind)
	}
	return reader, nil
}
