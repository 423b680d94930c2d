package accounts

import (
	"cmp"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

func (c *change) invitationCreated(e *event.InvitationCreated) (Refusal, error) {
	switch {
	case c.s.invitations.byID[e.Invitation] != nil:
		return IDTaken, nil
	case c.s.invitations.byHash[e.Hash] != nil:
		return HashTaken, nil
	case len(c.s.invitations.byID) >= MaxInvitations:
		return TooMany, nil
	}
	return "", c.putInvitation(&account.Invitation{
		ID: e.Invitation, Hash: e.Hash, Email: e.Email, Role: e.Role, By: e.By.User, CreatedAt: e.At.UTC(), ExpiresAt: e.ExpiresAt.UTC(),
	})
}

func (c *change) invitationRevoked(e *event.InvitationRevoked) (Refusal, error) {
	if c.s.invitations.byID[e.Invitation] == nil {
		return InvitationGone, nil
	}
	return "", c.dropInvitation(e.Invitation)
}

// activeUser returns the reason why no credential can be created for a user.
func (c *change) activeUser(id account.UserID) Refusal {
	switch u := c.s.users[id]; {
	case u == nil:
		return UnknownUser
	case !u.Active():
		return UserInactive
	}
	return ""
}

func (c *change) sessionStarted(e *event.SessionStarted) (Refusal, error) {
	if why := c.activeUser(e.User); why != "" {
		return why, nil
	}
	switch {
	case c.s.sessions.byID[e.Session] != nil:
		return IDTaken, nil
	case c.s.sessions.byHash[e.Hash] != nil:
		return HashTaken, nil
	}
	if e.Replaces != "" {
		if why, err := c.replaceSession(e); why != "" || err != nil {
			return why, err
		}
	}
	if err := c.makeRoom(e.User); err != nil {
		return "", err
	}
	if e.Provider != nil {
		if err := c.applyProviderClaims(e.User, e.Provider); err != nil {
			return "", err
		}
	}
	return "", c.putSession(&session{Session: account.Session{
		ID: e.Session, User: e.User, Hash: e.Hash, CreatedAt: e.At.UTC(), ExpiresAt: e.ExpiresAt.UTC(), Address: e.By.Address, Agent: e.By.Client,
	}})
}

// replaceSession shortens the session that another one replaces to its grace period. A
// session that has already ended cannot be replaced, and a session can be replaced only
// once.
func (c *change) replaceSession(e *event.SessionStarted) (Refusal, error) {
	old := c.s.sessions.byID[e.Replaces]
	switch {
	case old == nil || old.User != e.User || !e.At.Before(old.ExpiresAt):
		return SessionGone, nil
	case old.replacedBy != "":
		return SessionReplaced, nil
	}
	next := *old
	next.replacedBy = e.Session
	if end := e.At.Add(event.SessionGrace).UTC(); end.Before(old.ExpiresAt) {
		next.ExpiresAt = end
	}
	return "", c.putSession(&next)
}

// makeRoom ends the session of a user with the earliest expiry if there are too many.
func (c *change) makeRoom(user account.UserID) error {
	all := c.s.sessions.byOwner[string(user)]
	if len(all) < MaxSessionsPerUser {
		return nil
	}
	var first *session
	for _, s := range all {
		if first == nil || s.ExpiresAt.Before(first.ExpiresAt) || s.ExpiresAt.Equal(first.ExpiresAt) && s.ID < first.ID {
			first = s
		}
	}
	return c.dropSession(first.ID)
}

func (c *change) sessionEnded(e *event.SessionEnded) (Refusal, error) {
	if e.Session == "" {
		if len(c.s.sessions.byOwner[string(e.User)]) == 0 {
			return SessionGone, nil
		}
		return "", c.dropSessions(e.User, nil)
	}
	s := c.s.sessions.byID[e.Session]
	if s == nil || s.User != e.User {
		return SessionGone, nil
	}
	for id := range c.rotationChain(s) {
		if err := c.dropSession(id); err != nil {
			return "", err
		}
	}
	return "", nil
}

// ownSession returns the session of an actor if it belongs to user.
func (c *change) ownSession(by account.Actor, user account.UserID) *session {
	s := c.s.sessions.byID[account.SessionID(by.Credential)]
	if by.Kind != account.ActorUser || s == nil || s.User != user {
		return nil
	}
	return s
}

// rotationChain returns s with the sessions that it replaced and those that replaced it:
// together, one sign-in.
func (c *change) rotationChain(s *session) map[account.SessionID]bool {
	if s == nil {
		return nil
	}
	same := map[account.SessionID]bool{s.ID: true}
	for grown := true; grown; {
		grown = false
		for id, other := range c.s.sessions.byOwner[string(s.User)] {
			if next := other.replacedBy; same[id] && next != "" && !same[next] && c.s.sessions.byID[next] != nil {
				same[next], grown = true, true
			} else if same[next] && !same[id] {
				same[id], grown = true, true
			}
		}
	}
	return same
}

func (c *change) keyCreated(e *event.KeyCreated) (Refusal, error) {
	if why := c.activeUser(e.User); why != "" {
		return why, nil
	}
	mine := c.s.keys.byOwner[string(e.User)]
	switch {
	case c.s.keys.byID[e.ID] != nil:
		return IDTaken, nil
	case c.s.keys.byHash[e.Hash] != nil:
		return HashTaken, nil
	case len(mine) >= MaxKeysPerUser:
		return TooMany, nil
	}
	for _, k := range mine {
		if k.Name == e.Name {
			return NameTaken, nil
		}
	}
	k := &account.Key{
		ID: e.ID, User: e.User, Name: e.Name, Prefix: cmp.Or(e.ShownPrefix, e.Prefix), Hash: e.Hash, Scopes: e.AllScopes(), Repositories: e.Repositories, CreatedAt: e.At.UTC(),
	}
	if !e.ExpiresAt.IsZero() {
		k.ExpiresAt = e.ExpiresAt.UTC()
	}
	return "", c.putKey(k)
}

func (c *change) keyDeleted(e *event.KeyDeleted) (Refusal, error) {
	if k := c.s.keys.byID[e.ID]; k == nil || k.User != e.User {
		return KeyGone, nil
	}
	return "", c.dropKey(e.ID)
}

func (c *change) tokenMinted(e *event.TokenMinted) (Refusal, error) {
	if why := c.activeUser(e.User); why != "" {
		return why, nil
	}
	k := c.s.keys.byID[e.MintedBy]
	switch {
	case k == nil || k.User != e.User:
		return KeyGone, nil
	case !k.ExpiresAt.IsZero() && !e.At.Before(k.ExpiresAt):
		return KeyExpired, nil
	case c.s.tokens.byID[e.Token] != nil:
		return IDTaken, nil
	case c.s.tokens.byHash[e.Hash] != nil:
		return HashTaken, nil
	}
	if why, err := c.roomForToken(e.MintedBy, e.At); why != "" || err != nil {
		return why, err
	}
	return "", c.putToken(&account.Token{
		ID: e.Token, Key: e.MintedBy, User: e.User, Hash: e.Hash, Repositories: e.Repositories, CreatedAt: e.At.UTC(), ExpiresAt: e.ExpiresAt.UTC(),
	})
}

// roomForToken removes the expired tokens of a key if it has too many.
func (c *change) roomForToken(key account.KeyID, now time.Time) (Refusal, error) {
	all := c.s.tokens.byOwner[string(key)]
	if len(all) < MaxTokensPerKey {
		return "", nil
	}
	left := len(all)
	for id, t := range all {
		if now.Before(t.ExpiresAt) {
			continue
		}
		left--
		if err := c.dropToken(id); err != nil {
			return "", err
		}
	}
	if left >= MaxTokensPerKey {
		return TooMany, nil
	}
	return "", nil
}

func (c *change) tokenRevoked(e *event.TokenRevoked) (Refusal, error) {
	if c.s.tokens.byID[e.Token] == nil {
		return TokenGone, nil
	}
	return "", c.dropToken(e.Token)
}
