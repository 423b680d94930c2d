package auth

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Authenticate returns the sender of r. The error is ErrNotReady while the accounts are
// loading. Otherwise it is ErrUnauthenticated, whatever the cause: the credential is
// malformed, unknown, expired or of a user who may not sign in, several credentials
// disagree, or there is none and anonymous requests are not allowed.
//
// A request may carry a credential in a header and a session in its cookie, as our own
// page that tests a key does. Both must then be valid and belong to one user, and the
// header's credential applies.
func (s *Service) Authenticate(r *http.Request) (*Principal, error) {
	shown, ok := readCredentials(r, s.cookie)
	if !ok {
		return nil, s.refuseCredential(refusedMalformed)
	}
	if err := s.checkReady(); err != nil && (kindOf(shown.header) != account.PrefixOperator || shown.cookie != "") {
		return nil, err
	}
	if shown.header == "" && shown.cookie == "" {
		return s.anonymousPrincipal(r)
	}
	now := s.o.Now()
	p, reason := s.principalOf(shown, now)
	if reason != "" {
		return nil, s.refuseCredential(reason)
	}
	s.setOrigin(r, &p.Actor)
	return p, nil
}

// checkReady returns ErrNotReady until the accounts have caught up with the log as of the
// start.
func (s *Service) checkReady() error {
	if err := s.o.Ready(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	return nil
}

func (s *Service) refuseCredential(reason string) error {
	s.metrics.refused.WithLabelValues(reason).Inc()
	return ErrUnauthenticated
}

func (s *Service) anonymousPrincipal(r *http.Request) (*Principal, error) {
	if !s.o.Anonymous {
		return nil, s.refuseCredential(refusedMissing)
	}
	p := &Principal{Actor: account.Actor{Kind: account.ActorAnonymous}, Scopes: readScopes}
	s.setOrigin(r, &p.Actor)
	return p, nil
}

// principalOf returns the principal of the credentials, or the reason why they are
// refused.
func (s *Service) principalOf(shown shownCredentials, now time.Time) (*Principal, string) {
	var bySession *Principal
	if shown.cookie != "" {
		p, reason := s.sessionPrincipal(shown.cookie, now)
		if reason != "" || shown.header == "" {
			return p, reason
		}
		bySession = p
	}
	p, reason := s.headerPrincipal(shown.header, now)
	if reason == "" && bySession != nil && p.Actor.User != bySession.Actor.User {
		return nil, refusedDisagree
	}
	return p, reason
}

func (s *Service) headerPrincipal(value string, now time.Time) (*Principal, string) {
	hash := s.digests.hashCredential(value)
	switch kindOf(value) {
	case account.PrefixKey:
		return s.keyPrincipal(hash, now)
	case account.PrefixToken:
		return s.tokenPrincipal(hash, now)
	}
	if s.operator == "" || !equalHashes(hash, s.operator) {
		return nil, refusedUnknown
	}
	return &Principal{Actor: account.Actor{Kind: account.ActorOperator}, Role: account.RoleOwner, Scopes: allScopes}, ""
}

func (s *Service) keyPrincipal(hash string, now time.Time) (*Principal, string) {
	key, found := s.o.Directory.KeyByHash(hash)
	if !found || !equalHashes(hash, key.Hash) {
		return nil, refusedUnknown
	}
	if hasExpired(key.ExpiresAt, now) {
		return nil, refusedExpired
	}
	user, reason := s.activeUser(key.User, now)
	if reason != "" {
		return nil, reason
	}
	s.activity.seeKey(key, now)
	p := &Principal{
		Actor:  account.Actor{Kind: account.ActorKey, User: user.ID, Credential: string(key.ID)},
		Role:   user.Role,
		Scopes: keyScopes(key, user),
	}
	if len(key.Repositories) > 0 {
		p.Repositories = s.restrictions.repositorySet(hash, key.Repositories, nil)
	}
	return p, ""
}

// tokenPrincipal returns the principal of a token. A token ends with the key that minted
// it, and never grants more than that key.
func (s *Service) tokenPrincipal(hash string, now time.Time) (*Principal, string) {
	token, found := s.o.Directory.TokenByHash(hash)
	if !found || !equalHashes(hash, token.Hash) {
		return nil, refusedUnknown
	}
	key, found := s.o.Directory.Key(token.Key)
	if !found || key.User != token.User {
		return nil, refusedUnknown
	}
	if hasExpired(token.ExpiresAt, now) || hasExpired(key.ExpiresAt, now) {
		return nil, refusedExpired
	}
	user, reason := s.activeUser(token.User, now)
	if reason != "" {
		return nil, reason
	}
	return &Principal{
		Actor:        account.Actor{Kind: account.ActorToken, User: user.ID, Credential: string(token.ID)},
		Role:         user.Role,
		Scopes:       readingScopes(key.Scopes),
		Repositories: s.restrictions.repositorySet(hash, token.Repositories, key.Repositories),
	}, ""
}

func (s *Service) sessionPrincipal(value string, now time.Time) (*Principal, string) {
	hash := s.digests.hashCredential(value)
	session, found := s.o.Directory.SessionByHash(hash)
	if !found || !equalHashes(hash, session.Hash) {
		return nil, refusedUnknown
	}
	if hasExpired(session.ExpiresAt, now) {
		return nil, refusedExpired
	}
	user, reason := s.activeUser(session.User, now)
	if reason != "" {
		return nil, reason
	}
	return &Principal{
		Actor:  account.Actor{Kind: account.ActorUser, User: user.ID, Credential: string(session.ID)},
		Role:   user.Role,
		Scopes: scopesOf(user),
	}, ""
}

func (s *Service) activeUser(id account.UserID, now time.Time) (*account.User, string) {
	user, found := s.o.Directory.User(id)
	if !found || !user.Active() {
		return nil, refusedInactive
	}
	s.activity.seeUser(user, now)
	return user, ""
}

// equalHashes compares keyed hashes in constant time. The preceding lookup uses the keyed
// hash, too, so its duration reveals nothing about the value.
func equalHashes(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// hasExpired reports whether end has passed; the zero time never does.
func hasExpired(end, now time.Time) bool { return !end.IsZero() && !now.Before(end) }

// setOrigin sets where a request comes from.
func (s *Service) setOrigin(r *http.Request, a *account.Actor) {
	a.Address = cleanText(s.o.Address(r), event.MaxAddressBytes)
	a.Client = ClientOf(r)
}

// ClientOf returns how the client of r identifies itself, in the form of account.Actor;
// empty if it does not.
func ClientOf(r *http.Request) string {
	for _, name := range [...]string{"X-Quarry-Client-Source", "X-Sourcebot-Client-Source", "User-Agent"} {
		if values := r.Header[name]; len(values) > 0 && values[0] != "" {
			return cleanText(values[0], account.MaxClientBytes)
		}
	}
	return ""
}

// cleanActor returns an actor whose texts fit into an event: the client's name may
// contain anything that a header may.
func cleanActor(a account.Actor) account.Actor {
	a.Address, a.Client = cleanText(a.Address, event.MaxAddressBytes), cleanText(a.Client, account.MaxClientBytes)
	return a
}

// cleanText truncates text to max bytes and removes characters that are not printable.
func cleanText(text string, max int) string {
	text = text[:min(len(text), max)]
	clean := true
	for _, c := range []byte(text) {
		clean = clean && c >= ' ' && c < 0x7f
	}
	if clean {
		return text
	}
	out := strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == utf8.RuneError {
			return -1
		}
		return c
	}, strings.ToValidUTF8(text, ""))
	return out[:min(len(out), max)]
}

var (
	allScopes  = []account.Scope{account.ScopeSearch, account.ScopeGit, account.ScopeAdmin, account.ScopeScip}
	readScopes = []account.Scope{account.ScopeSearch, account.ScopeGit}
)

// scopesOf returns the scopes that a session of user has now.
func scopesOf(user *account.User) []account.Scope {
	if user.Role == account.RoleOwner {
		return allScopes
	}
	return readScopes
}

// keyScopes returns the scopes that a key of user has now. The admin scope of a member
// has no effect, and neither has that of a key restricted to some repositories, because
// it covers the whole instance. An owner's scip scope applies to the repositories of the
// key.
func keyScopes(key *account.Key, user *account.User) []account.Scope {
	if user.Role == account.RoleOwner && len(key.Repositories) == 0 {
		return key.Scopes
	}
	scopes := readingScopes(key.Scopes)
	if user.Role == account.RoleOwner && slices.ContainsFunc(key.Scopes, isScipScope) {
		scopes = append(slices.Clip(scopes), account.ScopeScip)
	}
	return scopes
}

// readingScopes returns the scopes that only read, without allocating.
func readingScopes(scopes []account.Scope) []account.Scope {
	search, git := false, false
	for _, s := range scopes {
		search, git = search || s == account.ScopeSearch, git || s == account.ScopeGit
	}
	switch {
	case search && git:
		return readScopes
	case search:
		return readScopes[:1:1]
	case git:
		return readScopes[1:2:2]
	}
	return []account.Scope{}
}

// asSet returns the IDs that are also in only, or all IDs if only is empty.
func asSet(ids, only []code.RepositoryID) map[code.RepositoryID]struct{} {
	set := make(map[code.RepositoryID]struct{}, len(ids))
	for _, id := range ids {
		set[id] = struct{}{}
	}
	if len(only) == 0 {
		return set
	}
	both := make(map[code.RepositoryID]struct{}, len(only))
	for _, id := range only {
		if _, in := set[id]; in {
			both[id] = struct{}{}
		}
	}
	return both
}
