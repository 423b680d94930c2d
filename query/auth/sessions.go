package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxSessions bounds the sessions of a user; one more ends the oldest.
const maxSessions = 100

// How a session was started: event.SessionStarted.Method.
const (
	methodPassword   = "password"
	methodOIDC       = "oidc"
	methodInvitation = "invitation"
	methodSetup      = "setup"
	methodReset      = "reset"
	methodRotation   = "rotation"
)

// SignedIn is a session that has just started. Its value cannot be retrieved again.
type SignedIn struct {
	User    *account.User
	Session *account.Session
	Value   string
}

// pendingSession is a session that has not been recorded yet.
type pendingSession struct {
	value string
	event *event.SessionStarted
}

// newSession returns a session of user. Its value is always new: a value that the browser
// sent is never reused.
func (s *Service) newSession(user account.UserID, from account.Actor, method string) pendingSession {
	now, id, value := s.nowUTC(), newID(), newValue(account.PrefixSession)
	from.Kind, from.User, from.Credential = account.ActorUser, user, id
	return pendingSession{value, &event.SessionStarted{
		Session: account.SessionID(id), User: user, Hash: s.digests.hashCredential(value), ExpiresAt: now.Add(s.o.SessionTTL),
		Method: method, By: from, At: now,
	}}
}

// startSession appends the events before and then the session, and returns it.
func (s *Service) startSession(ctx context.Context, n pendingSession, before ...event.Event) (*SignedIn, error) {
	events := append(slices.Clip(before), event.Event(n.event))
	if err := s.appendChange(ctx, append(events, s.oldestSessions(n.event)...)...); err != nil {
		return nil, err
	}
	session, found := s.o.Directory.SessionByHash(n.event.Hash)
	user, known := s.o.Directory.User(n.event.User)
	if !found || !known {
		return nil, ErrUnauthenticated
	}
	return &SignedIn{User: user, Session: session, Value: n.value}, nil
}

// oldestSessions returns the events that end the oldest sessions beyond maxSessions.
func (s *Service) oldestSessions(begun *event.SessionStarted) []event.Event {
	sessions := s.o.Directory.Sessions(begun.User)
	var events []event.Event
	for i := maxSessions - 1; i < len(sessions); i++ {
		events = append(events, &event.SessionEnded{User: begun.User, Session: sessions[i].ID, By: begun.By, At: begun.At})
	}
	return events
}

// rotations are the sessions that are being replaced.
type rotations struct {
	mu struct {
		sync.Mutex
		underWay map[account.SessionID]struct{} // at most one per request
	}
}

func (r *rotations) beginRotation(id account.SessionID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, found := r.mu.underWay[id]; found {
		return false
	}
	if r.mu.underWay == nil {
		r.mu.underWay = map[account.SessionID]struct{}{}
	}
	r.mu.underWay[id] = struct{}{}
	return true
}

func (r *rotations) endRotation(id account.SessionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.underWay, id)
}

// Rotate returns a new value for the session of p if one is due, and nil otherwise. The
// old value stays valid for event.SessionGrace, for concurrent requests. The session's
// expiry does not change.
func (s *Service) Rotate(ctx context.Context, p *Principal) (*SignedIn, error) {
	if p.Actor.Kind != account.ActorUser {
		return nil, nil
	}
	id := account.SessionID(p.Actor.Credential)
	// Begin before the session is read: otherwise a rotation that ends in between would
	// rotate a session that was just replaced.
	if !s.rotations.beginRotation(id) {
		return nil, nil
	}
	defer s.rotations.endRotation(id)
	old, found := s.sessionOf(p.Actor.User, id)
	// A replaced session has only the grace period left.
	if !found || s.o.Now().Sub(old.CreatedAt) < s.o.RotateAfter || old.ExpiresAt.Sub(s.o.Now()) <= event.SessionGrace {
		return nil, nil
	}
	n := s.newSession(old.User, p.Actor, methodRotation)
	n.event.Replaces, n.event.ExpiresAt = old.ID, old.ExpiresAt
	return s.startSession(ctx, n)
}

// sessionOf returns a session that has not expired.
func (s *Service) sessionOf(user account.UserID, id account.SessionID) (*account.Session, bool) {
	for _, session := range s.o.Directory.Sessions(user) {
		if session.ID == id && !hasExpired(session.ExpiresAt, s.o.Now()) {
			return session, true
		}
	}
	return nil, false
}

// Sessions returns the sessions of p's user that have not expired, newest first.
func (s *Service) Sessions(p *Principal) ([]*account.Session, error) {
	user, err := s.needPerson(p)
	if err != nil {
		return nil, err
	}
	now := s.o.Now()
	return slices.DeleteFunc(slices.Clone(s.o.Directory.Sessions(user.ID)), func(session *account.Session) bool {
		return hasExpired(session.ExpiresAt, now)
	}), nil
}

// EndSession ends one session of p's user.
func (s *Service) EndSession(ctx context.Context, p *Principal, id account.SessionID) error {
	user, err := s.needPerson(p)
	if err != nil {
		return err
	}
	if _, found := s.sessionOf(user.ID, id); !found {
		return fmt.Errorf("%w: %.80q", ErrSessionNotFound, string(id))
	}
	return s.appendChange(ctx, &event.SessionEnded{User: user.ID, Session: id, By: p.Actor, At: s.nowUTC()})
}

// SignOut ends the session of p.
func (s *Service) SignOut(ctx context.Context, p *Principal) error {
	return s.EndSession(ctx, p, account.SessionID(p.Actor.Credential))
}

// SignOutEverywhere ends all sessions of p's user.
func (s *Service) SignOutEverywhere(ctx context.Context, p *Principal) error {
	user, err := s.needPerson(p)
	if err != nil {
		return err
	}
	return s.appendChange(ctx, &event.SessionEnded{User: user.ID, By: p.Actor, At: s.nowUTC()})
}

// Cookie returns the cookie of a session for the browser.
func (s *Service) Cookie(in *SignedIn) *http.Cookie {
	c := s.NoCookie()
	c.Value, c.MaxAge = in.Value, int(in.Session.ExpiresAt.Sub(s.o.Now())/time.Second)
	return c
}

// NoCookie returns a cookie that deletes the session in the browser.
func (s *Service) NoCookie() *http.Cookie {
	return &http.Cookie{
		Name: s.cookie, Path: s.o.PublicURL.CookiePath(), MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.o.PublicURL.IsSecure(),
	}
}

// HasCookie reports whether r carries a session cookie, valid or not, by http or https.
func HasCookie(r *http.Request) bool {
	return slices.ContainsFunc(r.Header["Cookie"], func(line string) bool { return strings.Contains(line, CookieName+"=") })
}
