package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxInvitations bounds open invitations, and maxPending the users waiting for approval.
const (
	maxInvitations = 1000
	maxPending     = 1000
)

// Newcomer is a person who wants to become a user.
type Newcomer struct {
	// Value is the value of the setup link or the invitation.
	Value    string
	Email    string // if the invitation names an address: that address or empty
	Name     string
	Password string
}

// SetupValue returns the one-time value that creates the first owner. It is empty once
// there is a user: before that, only the operator can admit users. Each process generates
// a new value at its start, which must be stored where only the operator can read it.
func (s *Service) SetupValue() string {
	if s.o.Directory.Owners() > 0 || len(s.o.Directory.Users()) > 0 {
		return ""
	}
	return s.setup
}

// Setup creates the first owner and signs them in. Of two concurrent calls, the directory
// accepts one.
func (s *Service) Setup(ctx context.Context, from account.Actor, n Newcomer) (*SignedIn, error) {
	from = cleanActor(from)
	return s.throttleAttempt(ctx, methodSetup, from, func() (*SignedIn, error) {
		setup := s.SetupValue()
		if setup == "" || !equalHashes(s.digests.hashCredential(n.Value), s.digests.hashCredential(setup)) || kindOf(n.Value) == "" {
			return nil, ErrUnauthenticated
		}
		user := event.UserCreated{Role: account.RoleOwner, State: account.StateActive, FirstOwner: true}
		return s.createPasswordUser(ctx, from, n, user, methodSetup)
	})
}

// createPasswordUser creates a user with a password and signs them in. The error is
// ErrUnauthenticated if the directory refused the user.
func (s *Service) createPasswordUser(ctx context.Context, from account.Actor, n Newcomer, user event.UserCreated, method string) (*SignedIn, error) {
	var err error
	if user.Email, err = normalEmail(n.Email); err != nil {
		return nil, err
	}
	if user.Name, err = normalName("name", n.Name, 0, account.MaxNameBytes); err != nil {
		return nil, err
	}
	if err := checkPassword(n.Password); err != nil {
		return nil, err
	}
	if user.PasswordHash, err = s.hasher.hashPassword(ctx, turnOfNewcomer(from.Address), n.Password); err != nil {
		return nil, err
	}
	user.User, user.By, user.At = account.UserID(newID()), from, s.nowUTC()
	return s.startSession(ctx, s.newSession(user.User, from, method), &user)
}

// Invitation holds the settings of a new invitation.
type Invitation struct {
	Email string // the only address that may accept; empty: anyone with the value
	Role  account.Role
	// ExpiresIn defaults to the configured time.
	ExpiresIn time.Duration
}

// Invite creates an invitation. The value, which is all that is needed to accept it, is
// returned only here. Invite does not reveal whether the address already has an account.
func (s *Service) Invite(ctx context.Context, p *Principal, i Invitation) (*account.Invitation, string, error) {
	if err := needOwner(p); err != nil {
		return nil, "", err
	}
	setDefault(&i.Role, account.RoleMember)
	setDefault(&i.ExpiresIn, s.o.InvitationTTL)
	if i.Email != "" {
		email, err := normalEmail(i.Email)
		if err != nil {
			return nil, "", err
		}
		i.Email = email
	}
	switch {
	case !i.Role.Valid():
		return nil, "", invalidField("role", "want OWNER or MEMBER")
	case i.ExpiresIn < time.Minute || i.ExpiresIn > MaxInvitationTTL:
		return nil, "", invalidField("expiresAt", "want it from a minute to %d days from now", MaxInvitationTTL/(24*time.Hour))
	case len(s.openInvitations()) >= maxInvitations:
		return nil, "", fmt.Errorf("%w: %d invitations are pending; revoke some", ErrTooMany, maxInvitations)
	}
	value, now := newValue(account.PrefixInvitation), s.nowUTC()
	ev := &event.InvitationCreated{
		Invitation: account.InvitationID(newID()), Hash: s.digests.hashCredential(value), Email: i.Email, Role: i.Role,
		ExpiresAt: now.Add(i.ExpiresIn), By: p.Actor, At: now,
	}
	if err := s.appendChange(ctx, ev); err != nil {
		return nil, "", err
	}
	made, found := s.o.Directory.InvitationByHash(ev.Hash)
	if !found {
		return nil, "", fmt.Errorf("%w: the invitation no longer exists", ErrUnavailable)
	}
	return made, value, nil
}

// openInvitations returns the invitations that can be accepted, newest first.
func (s *Service) openInvitations() []*account.Invitation {
	var out []*account.Invitation
	for _, i := range s.o.Directory.Invitations() {
		if s.isAcceptable(i) {
			out = append(out, i)
		}
	}
	return out
}

// isAcceptable reports whether an invitation can be accepted: it has not expired, and its
// creator is still an owner. A removed owner cannot return by their own invitation.
func (s *Service) isAcceptable(i *account.Invitation) bool {
	if hasExpired(i.ExpiresAt, s.o.Now()) {
		return false
	}
	by, found := s.o.Directory.User(i.By)
	return i.By == "" || found && by.Active() && by.Role == account.RoleOwner
}

// Invitations returns the open invitations, newest first.
func (s *Service) Invitations(p *Principal) ([]*account.Invitation, error) {
	if err := needOwner(p); err != nil {
		return nil, err
	}
	return s.openInvitations(), nil
}

// RevokeInvitation revokes an invitation.
func (s *Service) RevokeInvitation(ctx context.Context, p *Principal, id account.InvitationID) error {
	if err := needOwner(p); err != nil {
		return err
	}
	for _, i := range s.o.Directory.Invitations() {
		if i.ID == id {
			return s.appendChange(ctx, &event.InvitationRevoked{Invitation: id, By: p.Actor, At: s.nowUTC()})
		}
	}
	return fmt.Errorf("%w: %.80q", ErrInvitationNotFound, string(id))
}

// InvitationOf returns the invitation with a value, for the page that shows the form.
func (s *Service) InvitationOf(value string) (*account.Invitation, bool) {
	if kindOf(value) != account.PrefixInvitation {
		return nil, false
	}
	hash := s.digests.hashCredential(value)
	i, found := s.o.Directory.InvitationByHash(hash)
	if !found || !equalHashes(hash, i.Hash) || !s.isAcceptable(i) {
		return nil, false
	}
	return i, true
}

// Accept makes an invited person a user, with a password, and signs them in. The error is
// ErrInvitation for any problem with the invitation, the e-mail address or both: neither
// reveals whether an address has an account.
func (s *Service) Accept(ctx context.Context, from account.Actor, n Newcomer) (*SignedIn, error) {
	from = cleanActor(from)
	return s.throttleAttempt(ctx, methodInvitation, from, func() (*SignedIn, error) {
		i, found := s.InvitationOf(n.Value)
		if !found {
			return nil, ErrInvitation
		}
		if n.Email == "" {
			n.Email = i.Email
		}
		email, err := normalEmail(n.Email)
		if err != nil {
			return nil, err
		}
		if i.Email != "" && email != i.Email {
			return nil, ErrInvitation
		}
		user := event.UserCreated{Role: i.Role, State: account.StateActive, Invitation: i.ID}
		in, err := s.createPasswordUser(ctx, from, n, user, methodInvitation)
		if errors.Is(err, ErrUnauthenticated) {
			err = ErrInvitation
		}
		return in, err
	})
}
