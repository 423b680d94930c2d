package auth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// appendChange appends events and returns once the directory has applied them: from then
// on this process uses them. The caller reads the result from the directory.
func (s *Service) appendChange(ctx context.Context, events ...event.Event) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	at, err := s.o.Appender.Append(ctx, events...)
	if err == nil {
		err = s.o.Directory.Await(ctx, at)
	}
	if err == nil {
		return nil
	}
	// The cause is for the operator; the caller only learns that the server failed.
	s.o.Logger.ErrorContext(ctx, "account change failed", "event", events[0].EventType(), "error", err)
	return ErrUnavailable
}

// nowUTC returns the time for events.
func (s *Service) nowUTC() time.Time { return s.o.Now().UTC() }

// Origin returns the origin of r for open routes; the actor is not authenticated.
func (s *Service) Origin(r *http.Request) account.Actor {
	a := account.Actor{Kind: account.ActorAnonymous}
	s.setOrigin(r, &a)
	return a
}

// needOwner returns an error unless p administers the instance.
func needOwner(p *Principal) error {
	switch {
	case p.Owner():
		return nil
	case p.Anonymous():
		return ErrUnauthenticated
	}
	return fmt.Errorf("%w: only an owner with the scope %q may do this", ErrForbidden, string(account.ScopeAdmin))
}

// needPerson returns the user of p, who must be signed in with a session: what a key or
// token could do here would outlive it.
func (s *Service) needPerson(p *Principal) (*account.User, error) {
	if p.Anonymous() {
		return nil, ErrUnauthenticated
	}
	if p.Actor.Kind != account.ActorUser {
		return nil, fmt.Errorf("%w: only a signed-in user may do this", ErrForbidden)
	}
	user, found := s.o.Directory.User(p.Actor.User)
	if !found || !user.Active() {
		return nil, ErrUnauthenticated
	}
	return user, nil
}

// normalEmail returns an e-mail address in the form that accounts store. It cannot check
// that the address receives mail.
func normalEmail(text string) (string, error) {
	email := account.LowerEmail(strings.TrimSpace(text))
	local, domain, found := strings.Cut(email, "@")
	switch {
	case len(email) > account.MaxEmailBytes:
		return "", invalidField("email", "want at most %d bytes", account.MaxEmailBytes)
	case !found || local == "" || domain == "" || strings.Contains(domain, "@") || !isPrintable(email) || strings.ContainsAny(email, " "):
		return "", invalidField("email", "want an email address")
	case email != strings.ToLower(email):
		return "", invalidField("email", "want one that has lower case")
	}
	return email, nil
}

// normalName returns a name without invisible characters.
func normalName(field, text string, least, most int) (string, error) {
	name := strings.TrimSpace(text)
	if len(name) < least || len(name) > most || !isPrintable(name) {
		return "", invalidField(field, "want %d to %d bytes of printable text", least, most)
	}
	return name, nil
}

func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 })
}

func checkPassword(password string) error {
	if len(password) < account.MinPasswordBytes || len(password) > account.MaxPasswordBytes || !utf8.ValidString(password) {
		return invalidField("password", "want %d to %d bytes", account.MinPasswordBytes, account.MaxPasswordBytes)
	}
	return nil
}

// replacePassword replaces the password of a user, and reports whether it did: of several requests
// that know the same password, in any process, one replaces it.
func (s *Service) replacePassword(ctx context.Context, user *account.User, hash string, by account.Actor, at time.Time) (bool, error) {
	if err := s.appendChange(ctx, &event.UserChanged{
		User:         user.ID,
		Change:       event.UserPasswordChanged,
		PasswordHash: hash,
		Replaces:     user.PasswordHash,
		By:           by,
		At:           at,
	}); err != nil {
		return false, err
	}
	now, found := s.o.Directory.User(user.ID)
	return found && now.PasswordHash == hash, nil
}
