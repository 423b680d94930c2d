package accounts

import (
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

func (c *change) userCreated(e *event.UserCreated) (Refusal, error) {
	if why := c.checkNewUser(e); why != "" {
		return why, nil
	}
	if e.Invitation != "" {
		if why := c.checkInvitation(e); why != "" {
			return why, nil
		}
		if err := c.dropInvitation(e.Invitation); err != nil {
			return "", err
		}
	}
	u := &account.User{
		ID: e.User, Email: e.Email, Name: e.Name, Role: e.Role, State: e.State, PasswordHash: e.PasswordHash,
		CreatedAt: e.At.UTC(), UpdatedAt: e.At.UTC(),
	}
	if e.Identity != nil {
		// The provider has verified the address: no user is created for an identity
		// without a verified address.
		u.Identities, u.EmailVerified = []account.Identity{*e.Identity}, true
	}
	return "", c.putUser(u)
}

// checkNewUser returns the reason why the user cannot be created.
func (c *change) checkNewUser(e *event.UserCreated) Refusal {
	switch {
	case c.s.users[e.User] != nil:
		return IDTaken
	case c.s.emails[e.Email] != nil:
		return EmailTaken
	case e.Identity != nil && c.s.identities[*e.Identity] != nil:
		return IdentityTaken
	case e.FirstOwner && len(c.s.users) > 0:
		return NotFirst
	case e.FirstOwner && (e.Role != account.RoleOwner || e.State != account.StateActive):
		return NotOwner
	case len(c.s.users) >= MaxUsers:
		return TooMany
	}
	return ""
}

// checkInvitation returns the reason why the invitation is not valid for the user.
func (c *change) checkInvitation(e *event.UserCreated) Refusal {
	i := c.s.invitations.byID[e.Invitation]
	switch {
	case i == nil:
		return InvitationGone
	case !e.At.Before(i.ExpiresAt):
		return InvitationExpired
	case i.Email != "" && i.Email != e.Email, i.Role != e.Role:
		return InvitationOther
	}
	return ""
}

func (c *change) userChanged(e *event.UserChanged) (Refusal, error) {
	was := c.s.users[e.User]
	if was == nil {
		return UnknownUser, nil
	}
	u := *was
	if why := c.applyUserChange(&u, e); why != "" {
		return why, nil
	}
	if isActiveOwner(was) && !isActiveOwner(&u) && c.s.owners == 1 {
		return LastOwner, nil
	}
	u.UpdatedAt = e.At.UTC()
	if err := c.putUser(&u); err != nil {
		return "", err
	}
	switch e.Change {
	case event.UserSuspended:
		return "", c.dropCredentials(u.ID)
	case event.UserPasswordChanged:
		return "", c.dropSessions(u.ID, c.rotationChain(c.ownSession(e.By, u.ID)))
	}
	return "", nil
}

// applyUserChange changes u, or returns the reason why it cannot.
func (c *change) applyUserChange(u *account.User, e *event.UserChanged) Refusal {
	switch e.Change {
	case event.UserApproved:
		return changeState(u, account.StatePending, account.StateActive, time.Time{})
	case event.UserReinstated:
		return changeState(u, account.StateSuspended, account.StateActive, time.Time{})
	case event.UserSuspended:
		return changeState(u, u.State, account.StateSuspended, e.At.UTC())
	case event.UserRoleChanged:
		return setField(&u.Role, e.Role)
	case event.UserRenamed:
		return setField(&u.Name, e.Name)
	case event.UserPasswordChanged, event.UserPasswordRehash:
		if e.Replaces != "" && e.Replaces != u.PasswordHash {
			return PasswordReplaced
		}
		return setField(&u.PasswordHash, e.PasswordHash)
	case event.UserIdentityLinked:
		return c.linkIdentity(u, *e.Identity)
	}
	return Unchanged
}

// changeState moves a user from one state to another.
func changeState(u *account.User, from, to account.UserState, suspended time.Time) Refusal {
	if u.State != from || u.State == to {
		return Unchanged
	}
	u.State, u.SuspendedAt = to, suspended
	return ""
}

func setField[T comparable](field *T, value T) Refusal {
	if *field == value {
		return Unchanged
	}
	*field = value
	return ""
}

func (c *change) linkIdentity(u *account.User, id account.Identity) Refusal {
	switch other := c.s.identities[id]; {
	case other != nil && other.ID == u.ID:
		return Unchanged
	case other != nil:
		return IdentityTaken
	}
	held := slices.Clip(u.Identities)
	if strings.Contains(id.Issuer, account.HostClaimSeparator) {
		held = slices.DeleteFunc(slices.Clone(held), func(old account.Identity) bool { return old.Issuer == id.Issuer })
	}
	if len(held) >= MaxIdentitiesPerUser {
		return TooMany
	}
	u.Identities = append(held, id)
	return ""
}

// applyProviderClaims unlinks the identities at code hosts that a provider no longer
// names, and records whether the provider has verified the user's address.
func (c *change) applyProviderClaims(id account.UserID, said *event.ProviderClaims) error {
	was := c.s.users[id]
	u := *was
	u.Identities, u.EmailVerified = nil, said.EmailVerified
	for _, held := range was.Identities {
		if !strings.HasPrefix(held.Issuer, said.Issuer+account.HostClaimSeparator) || said.HostUser != nil && held == *said.HostUser {
			u.Identities = append(u.Identities, held)
		}
	}
	if u.EmailVerified == was.EmailVerified && len(u.Identities) == len(was.Identities) {
		return nil
	}
	return c.putUser(&u)
}

func (c *change) userRemoved(e *event.UserRemoved) (Refusal, error) {
	u := c.s.users[e.User]
	switch {
	case u == nil:
		return UnknownUser, nil
	case isActiveOwner(u) && c.s.owners == 1:
		return LastOwner, nil
	}
	if err := c.dropCredentials(u.ID); err != nil {
		return "", err
	}
	if err := c.dropMember(u.ID); err != nil {
		return "", err
	}
	if err := c.dropSavedSearches(u.ID); err != nil {
		return "", err
	}
	return "", c.dropUser(u.ID)
}

// activityNoted only moves times forward, because the notes of several processes arrive
// in any order.
func (c *change) activityNoted(e *event.ActivityNoted) error {
	for id, seen := range e.Users {
		u := c.s.users[id]
		if u == nil || !seen.After(u.LastActivityAt) {
			continue
		}
		next := *u
		next.LastActivityAt = seen.UTC()
		if err := c.putUser(&next); err != nil {
			return err
		}
	}
	for id, seen := range e.Keys {
		k := c.s.keys.byID[id]
		if k == nil || !seen.After(k.LastUsedAt) {
			continue
		}
		next := *k
		next.LastUsedAt = seen.UTC()
		if err := c.putKey(&next); err != nil {
			return err
		}
	}
	return nil
}
