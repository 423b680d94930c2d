package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Me returns the user of p, or nil for the operator, who is not a user.
func (s *Service) Me(p *Principal) (*account.User, error) {
	if p.Actor.Kind == account.ActorOperator {
		return nil, nil
	}
	user, found := s.o.Directory.User(p.Actor.User)
	if !found || p.Anonymous() {
		return nil, ErrUnauthenticated
	}
	return user, nil
}

// Users returns all users in any state, oldest first.
func (s *Service) Users(p *Principal) ([]*account.User, error) {
	if err := needOwner(p); err != nil {
		return nil, err
	}
	return s.o.Directory.Users(), nil
}

// User returns one user.
func (s *Service) User(p *Principal, id account.UserID) (*account.User, error) {
	if err := needOwner(p); err != nil {
		return nil, err
	}
	return s.findUser(id)
}

func (s *Service) findUser(id account.UserID) (*account.User, error) {
	user, found := s.o.Directory.User(id)
	if !found {
		return nil, fmt.Errorf("%w: %.80q", ErrUserNotFound, string(id))
	}
	return user, nil
}

// Approve activates a waiting user.
func (s *Service) Approve(ctx context.Context, p *Principal, id account.UserID) (*account.User, error) {
	return s.changeState(ctx, p, id, event.UserApproved, account.StatePending, account.StateActive)
}

// Suspend locks a user out until they are reinstated: their sessions, keys and tokens end
// immediately.
func (s *Service) Suspend(ctx context.Context, p *Principal, id account.UserID) (*account.User, error) {
	user, err := s.changeState(ctx, p, id, event.UserSuspended, account.StateActive, account.StateSuspended)
	if errors.Is(err, ErrConflict) {
		err = ErrLastOwnerRemoved
	}
	return user, err
}

// Reinstate activates a suspended user again. Ended credentials stay invalid.
func (s *Service) Reinstate(ctx context.Context, p *Principal, id account.UserID) (*account.User, error) {
	return s.changeState(ctx, p, id, event.UserReinstated, account.StateSuspended, account.StateActive)
}

// changeState does nothing for a user who is already in the given state.
func (s *Service) changeState(ctx context.Context, p *Principal, id account.UserID, c event.UserChange, from, to account.UserState) (*account.User, error) {
	if err := needOwner(p); err != nil {
		return nil, err
	}
	user, err := s.findUser(id)
	if err != nil || user.State == to {
		return user, err
	}
	if user.State != from {
		return nil, fmt.Errorf("%w: it is %s, not %s", ErrNotActive, user.State, from)
	}
	if to == account.StateSuspended && s.isLastOwner(user) {
		return nil, ErrLastOwnerRemoved
	}
	ev := &event.UserChanged{User: id, Change: c, By: p.Actor, At: s.nowUTC()}
	return s.changeUser(ctx, id, ev, func(u *account.User) bool { return u.State == to })
}

// changeUser appends ev and returns the resulting user.
func (s *Service) changeUser(ctx context.Context, id account.UserID, ev event.Event, done func(*account.User) bool) (*account.User, error) {
	if err := s.appendChange(ctx, ev); err != nil {
		return nil, err
	}
	user, err := s.findUser(id)
	if err != nil {
		return nil, err
	}
	if !done(user) {
		return nil, ErrConflict
	}
	return user, nil
}

func (s *Service) isLastOwner(u *account.User) bool {
	return u.Active() && u.Role == account.RoleOwner && s.o.Directory.Owners() <= 1
}

// ChangeRole makes an active user an owner or a member. The role takes effect with their
// next request.
func (s *Service) ChangeRole(ctx context.Context, p *Principal, id account.UserID, role account.Role) (*account.User, error) {
	if err := needOwner(p); err != nil {
		return nil, err
	}
	if !role.Valid() {
		return nil, invalidField("role", "want OWNER or MEMBER")
	}
	user, err := s.findUser(id)
	switch {
	case err != nil:
		return nil, err
	case !user.Active():
		return nil, ErrNotActive
	case user.Role == role:
		return user, nil
	case s.isLastOwner(user):
		return nil, ErrLastOwnerDemoted
	}
	ev := &event.UserChanged{User: id, Change: event.UserRoleChanged, Role: role, By: p.Actor, At: s.nowUTC()}
	user, err = s.changeUser(ctx, id, ev, func(u *account.User) bool { return u.Role == role })
	if errors.Is(err, ErrConflict) {
		err = ErrLastOwnerDemoted
	}
	return user, err
}

// Remove deletes a user and everything that belongs to them. Owners may remove
// themselves, except for the last one.
func (s *Service) Remove(ctx context.Context, p *Principal, id account.UserID) error {
	if err := needOwner(p); err != nil {
		return err
	}
	user, err := s.findUser(id)
	if err != nil {
		return err
	}
	if s.isLastOwner(user) {
		return ErrLastOwnerRemoved
	}
	if err := s.appendChange(ctx, &event.UserRemoved{User: id, By: p.Actor, At: s.nowUTC()}); err != nil {
		return err
	}
	if _, found := s.o.Directory.User(id); found {
		return ErrLastOwnerRemoved
	}
	return nil
}

// Rename changes the name of p's user.
func (s *Service) Rename(ctx context.Context, p *Principal, name string) (*account.User, error) {
	user, err := s.needPerson(p)
	if err != nil {
		return nil, err
	}
	if name, err = normalName("name", name, 0, account.MaxNameBytes); err != nil || name == user.Name {
		return user, err
	}
	ev := &event.UserChanged{User: user.ID, Change: event.UserRenamed, Name: name, By: p.Actor, At: s.nowUTC()}
	return s.changeUser(ctx, user.ID, ev, func(*account.User) bool { return true })
}

// ChangePassword changes the password of p's user, who must know the old one, and ends
// their other sessions. Wrong old passwords count as failed sign-ins, so that an
// unattended browser does not allow unlimited guessing.
func (s *Service) ChangePassword(ctx context.Context, p *Principal, old, password string) error {
	user, err := s.needPerson(p)
	if err != nil {
		return err
	}
	if user.PasswordHash == "" {
		return fmt.Errorf("%w: the account has no password; it signs in through a provider", ErrForbidden)
	}
	if err := checkPassword(password); err != nil {
		return err
	}
	limits := limitsOf("own "+user.Email, p.Actor.Address, true)
	if err := s.throttle.beginAttempt(limits, s.o.Now()); err != nil {
		return err
	}
	turn := turnOfUser(string(user.ID))
	matches, _, err := s.checkPasswordHash(ctx, turn, user.PasswordHash, old)
	if err != nil {
		s.throttle.forgetAttempt(limits, false)
		return err
	}
	if !matches {
		s.noteSignIn(ctx, methodPassword, p.Actor, user.Email, ErrUnauthenticated)
		return invalidField("oldPassword", "it is another")
	}
	s.throttle.forgetAttempt(limits, true)
	hash, err := s.hasher.hashPassword(ctx, turn, password)
	if err != nil {
		return err
	}
	replaced, err := s.replacePassword(ctx, user, hash, p.Actor, s.nowUTC())
	if err == nil && !replaced { // its owner has replaced the old one in the meantime, with a reset link
		err = ErrBusy
	}
	return err
}
