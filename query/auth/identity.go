package auth

import (
	"context"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Identified is a person as an OpenID Connect provider identifies them.
type Identified struct {
	Identity account.Identity
	// HostUser is the person's identity at a code host; zero if the provider does not
	// send one.
	HostUser account.Identity
	Email    string
	// EmailVerified is set if the provider has verified the address. Without it, no
	// decision depends on the address.
	EmailVerified bool
	Name          string
	// Invitation is the value of the invitation that the person followed, or empty.
	Invitation string
}

// SignInIdentity starts a session for a person that a provider has identified. The user
// is:
//
//  1. the user who has the identity;
//  2. else, if Options.LinkByEmail is set, the active user with the verified e-mail
//     address; the identity is then linked to that user;
//  3. else a new user: by the invitation, if it is valid and not for another address;
//     without one a member who waits for approval, or is active immediately if
//     Options.AdmitAll is set.
//
// The error is ErrPending for users who wait, ErrInvitation for an invalid invitation,
// ErrIdentity if the address is missing, not verified, or used by another user, and
// ErrUnauthenticated for users who may not sign in. The setup link creates the first
// owner; until then no user can sign in.
func (s *Service) SignInIdentity(ctx context.Context, from account.Actor, id Identified) (*SignedIn, error) {
	from = cleanActor(from)
	return s.throttleAttempt(ctx, methodOIDC, from, func() (*SignedIn, error) {
		if !isIdentity(id.Identity) || strings.Contains(id.Identity.Issuer, account.HostClaimSeparator) {
			return nil, ErrIdentity
		}
		if user, found := s.o.Directory.UserByIdentity(id.Identity); found {
			return s.signInUser(ctx, from, user, &id)
		}
		email, err := normalEmail(id.Email)
		if err != nil || !id.EmailVerified || s.o.Directory.Owners() == 0 {
			return nil, ErrIdentity
		}
		if user, found := s.o.Directory.UserByEmail(email); found {
			return s.linkAndSignIn(ctx, from, user, id)
		}
		return s.createIdentityUser(ctx, from, email, id)
	})
}

// isIdentity reports whether an event can hold id.
func isIdentity(id account.Identity) bool {
	return id.Issuer != "" && id.Subject != "" && len(id.Issuer) <= code.MaxURLBytes && len(id.Subject) <= event.MaxSubjectBytes &&
		isPrintable(id.Issuer) && isPrintable(id.Subject)
}

func (s *Service) signInUser(ctx context.Context, from account.Actor, user *account.User, id *Identified) (*SignedIn, error) {
	switch user.State {
	case account.StateActive:
		n := s.newProviderSession(user.ID, user.Email, from, id)
		return s.startSession(ctx, n, linkHostUser(n, user, id.HostUser)...)
	case account.StatePending:
		return nil, ErrPending
	}
	return nil, ErrUnauthenticated
}

// newProviderSession returns the session of a user who signs in with a provider, and
// updates what the provider asserts: claims that it no longer sends are removed.
func (s *Service) newProviderSession(user account.UserID, email string, from account.Actor, id *Identified) pendingSession {
	n := s.newSession(user, from, methodOIDC)
	n.event.Provider = &event.ProviderClaims{Issuer: id.Identity.Issuer}
	if isIdentity(id.HostUser) {
		n.event.Provider.HostUser = &id.HostUser
	}
	if said, err := normalEmail(id.Email); err == nil {
		n.event.Provider.EmailVerified = id.EmailVerified && said == email
	}
	return n
}

// linkHostUser returns the event that links a user to an identity at a code host; none if
// it is already linked. The event replaces an earlier identity at that host, and has no
// effect if another user has the identity: the sign-in proceeds without it.
func linkHostUser(n pendingSession, user *account.User, host account.Identity) []event.Event {
	if !isIdentity(host) || user != nil && slices.Contains(user.Identities, host) {
		return nil
	}
	return []event.Event{&event.UserChanged{User: n.event.User, Change: event.UserIdentityLinked, Identity: &host, By: n.event.By, At: n.event.At}}
}

// linkAndSignIn links an identity to the user with its verified e-mail address.
func (s *Service) linkAndSignIn(ctx context.Context, from account.Actor, user *account.User, id Identified) (*SignedIn, error) {
	if !s.o.LinkByEmail || !user.Active() {
		return nil, ErrIdentity
	}
	n := s.newProviderSession(user.ID, user.Email, from, &id)
	linked := &event.UserChanged{User: user.ID, Change: event.UserIdentityLinked, Identity: &id.Identity, By: n.event.By, At: n.event.At}
	return s.startSession(ctx, n, append([]event.Event{linked}, linkHostUser(n, user, id.HostUser)...)...)
}

// createIdentityUser creates a new user.
func (s *Service) createIdentityUser(ctx context.Context, from account.Actor, email string, id Identified) (*SignedIn, error) {
	user := &event.UserCreated{
		User: account.UserID(newID()), Email: email, Name: cleanText(id.Name, account.MaxNameBytes), Role: account.RoleMember,
		State: account.StatePending, Identity: &id.Identity, By: from, At: s.nowUTC(),
	}
	if s.o.AdmitAll {
		user.State = account.StateActive
	}
	if id.Invitation != "" {
		i, found := s.InvitationOf(id.Invitation)
		if !found || i.Email != "" && i.Email != email {
			return nil, ErrInvitation
		}
		user.Role, user.State, user.Invitation = i.Role, account.StateActive, i.ID
	}
	if user.State == account.StateActive {
		n := s.newProviderSession(user.User, email, from, &id)
		return s.startSession(ctx, n, append([]event.Event{user}, linkHostUser(n, nil, id.HostUser)...)...)
	}
	if s.countPending() >= maxPending {
		return nil, ErrIdentity
	}
	if err := s.appendChange(ctx, user); err != nil {
		return nil, err
	}
	return nil, ErrPending
}

func (s *Service) countPending() int {
	n := 0
	for _, u := range s.o.Directory.Users() {
		if u.State == account.StatePending {
			n++
		}
	}
	return n
}

// LinkIdentity links p's user to the identity that a provider has confirmed, and to host,
// an identity at a code host, unless host is zero.
func (s *Service) LinkIdentity(ctx context.Context, p *Principal, id, host account.Identity) error {
	user, err := s.needPerson(p)
	if err != nil {
		return err
	}
	if !isIdentity(id) {
		return ErrIdentity
	}
	err = s.appendChange(ctx, &event.UserChanged{User: user.ID, Change: event.UserIdentityLinked, Identity: &id, By: p.Actor, At: s.nowUTC()})
	if err != nil {
		return err
	}
	if now, found := s.o.Directory.UserByIdentity(id); !found || now.ID != user.ID {
		return ErrIdentity
	}
	if !isIdentity(host) || slices.Contains(user.Identities, host) {
		return nil
	}
	return s.appendChange(ctx, &event.UserChanged{User: user.ID, Change: event.UserIdentityLinked, Identity: &host, By: p.Actor, At: s.nowUTC()})
}
