package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// maxKeys bounds the keys of a user.
	maxKeys = 100
	// MaxKeyTTL bounds how far in the future a key may expire; a key without an expiry
	// time never expires.
	MaxKeyTTL = 10 * 365 * 24 * time.Hour
)

// NewKey holds the settings of a new key.
type NewKey struct {
	// User is the owner of the key. Only the operator, who is not a user, sets it; users
	// create keys for themselves.
	User account.UserID
	Name string
	// Scopes default to search and git.
	Scopes []account.Scope
	// Repositories restrict the key; empty means no restriction.
	Repositories []code.RepositoryID
	ExpiresAt    time.Time
}

// CreateKey creates a key. Its value is returned only here. Users must create keys with a
// session: a key that could create keys would outlive its deletion. The operator may
// create them for any user.
func (s *Service) CreateKey(ctx context.Context, p *Principal, n NewKey) (*account.Key, string, error) {
	user, err := s.keyOwner(p, n.User)
	if err != nil {
		return nil, "", err
	}
	if err := s.checkKey(ctx, user, &n); err != nil {
		return nil, "", err
	}
	keys := s.o.Directory.Keys(user.ID)
	if len(keys) >= maxKeys {
		return nil, "", fmt.Errorf("%w: a user has at most %d API keys; delete some", ErrTooMany, maxKeys)
	}
	if slices.ContainsFunc(keys, func(k *account.Key) bool { return k.Name == n.Name }) {
		return nil, "", fmt.Errorf("%w: %q", ErrKeyExists, n.Name)
	}
	secret := newSecret()
	value := account.PublicPrefixKey + secret
	ev := &event.KeyCreated{
		ID: account.KeyID(newID()), User: user.ID, Name: n.Name, Hash: s.digests.hashCredential(value),
		Prefix: account.PrefixKey + secret[:shownHexBytes], ShownPrefix: account.PublicPrefixKey + secret[:shownHexBytes],
		Scopes: slices.DeleteFunc(slices.Clone(n.Scopes), isScipScope), Scip: slices.ContainsFunc(n.Scopes, isScipScope),
		Repositories: n.Repositories, ExpiresAt: n.ExpiresAt, By: p.Actor, At: s.nowUTC(),
	}
	if err := s.appendChange(ctx, ev); err != nil {
		return nil, "", err
	}
	key, found := s.o.Directory.Key(ev.ID)
	if !found {
		return nil, "", s.keyRefusal(user.ID, n.Name)
	}
	return key, value, nil
}

// keyRefusal returns the reason why the directory refused a key: a concurrent change.
func (s *Service) keyRefusal(id account.UserID, name string) error {
	if user, found := s.o.Directory.User(id); !found || !user.Active() {
		return ErrUnauthenticated
	}
	if slices.ContainsFunc(s.o.Directory.Keys(id), func(k *account.Key) bool { return k.Name == name }) {
		return fmt.Errorf("%w: %q", ErrKeyExists, name)
	}
	return fmt.Errorf("%w: a user has at most %d API keys; delete some", ErrTooMany, maxKeys)
}

// keyOwner returns the owner of a key that p creates.
func (s *Service) keyOwner(p *Principal, id account.UserID) (*account.User, error) {
	if p.Actor.Kind == account.ActorOperator {
		if id == "" {
			return nil, fmt.Errorf("%w: the operator is not a user and has no keys; set userId to the owner of the key", ErrForbidden)
		}
		user, err := s.findUser(id)
		if err == nil && !user.Active() {
			err = ErrNotActive
		}
		return user, err
	}
	user, err := s.needPerson(p)
	if err == nil && id != "" && id != user.ID {
		err = fmt.Errorf("%w: a key can only be created by the user it belongs to", ErrForbidden)
	}
	return user, err
}

// checkKey validates n, a new key of user, and sets its defaults.
func (s *Service) checkKey(ctx context.Context, user *account.User, n *NewKey) error {
	var err error
	if n.Name, err = normalName("name", n.Name, 1, account.MaxKeyNameBytes); err != nil {
		return err
	}
	if n.Scopes, err = normalScopes(n.Scopes); err != nil {
		return err
	}
	if now := s.nowUTC(); !n.ExpiresAt.IsZero() && (!n.ExpiresAt.After(now) || n.ExpiresAt.Sub(now) > MaxKeyTTL) {
		return invalidField("expiresAt", "want a time to come, in at most ten years")
	}
	if slices.Contains(n.Scopes, account.ScopeAdmin) {
		switch {
		case user.Role != account.RoleOwner:
			return fmt.Errorf("%w: the scope admin is for keys of owners", ErrForbidden)
		case len(n.Repositories) > 0:
			return invalidField("repositories", "the scope admin is for the whole instance")
		}
	}
	if slices.ContainsFunc(n.Scopes, isScipScope) {
		switch {
		case user.Role != account.RoleOwner:
			return fmt.Errorf("%w: the scope scip is for keys of owners", ErrForbidden)
		case len(n.Scopes) == 1:
			return invalidField("scopes", "the scope scip comes with another one, such as search")
		}
	}
	p := &Principal{Actor: account.Actor{Kind: account.ActorUser, User: user.ID}, Role: user.Role}
	n.Repositories, err = s.checkRestriction(ctx, p, n.Repositories)
	return err
}

func isScipScope(s account.Scope) bool { return s == account.ScopeScip }

func normalScopes(scopes []account.Scope) ([]account.Scope, error) {
	if len(scopes) == 0 {
		return readScopes, nil
	}
	var out []account.Scope
	for _, scope := range scopes {
		if !scope.Valid() {
			return nil, invalidField("scopes", "want search, git, admin or scip, have %.40q", string(scope))
		}
		if !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	return out, nil
}

// checkRestriction returns ids without duplicates, in order. All of them must exist for
// p.
func (s *Service) checkRestriction(ctx context.Context, p *Principal, ids []code.RepositoryID) ([]code.RepositoryID, error) {
	var out []code.RepositoryID
	seen := make(map[code.RepositoryID]struct{}, min(len(ids), event.MaxRestriction))
	visible := s.Visible(p)
	for i, id := range ids {
		if _, again := seen[id]; again {
			continue
		}
		if len(out) >= event.MaxRestriction {
			return nil, invalidField("repositories", "want at most %d", event.MaxRestriction)
		}
		exists, err := s.repositoryExists(ctx, visible, id)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, fmt.Errorf("%w: repoIds[%d]", ErrRepositoryScope, i)
		}
		seen[id] = struct{}{}
		out = append(out, id)
	}
	return out, nil
}

// repositoryExists reports whether a repository exists for a caller with visible.
func (s *Service) repositoryExists(ctx context.Context, visible Visible, id code.RepositoryID) (bool, error) {
	if s.o.Catalog == nil || id == 0 {
		return false, nil
	}
	r, err := s.o.Catalog.Find(ctx, code.Repository{ID: id})
	if errors.Is(err, code.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find a repository: %w", err)
	}
	return visible.Sees(&r), nil
}

// Keys returns the keys of p's user, newest first.
func (s *Service) Keys(p *Principal) ([]*account.Key, error) {
	if p.Owner() && p.Actor.Kind != account.ActorUser {
		return s.o.Directory.Keys(p.Actor.User), nil
	}
	user, err := s.needPerson(p)
	if err != nil {
		return nil, err
	}
	return s.o.Directory.Keys(user.ID), nil
}

// AllKeys returns the keys of all users, newest first.
func (s *Service) AllKeys(p *Principal) ([]*account.Key, error) {
	if err := needOwner(p); err != nil {
		return nil, err
	}
	var out []*account.Key
	for _, user := range s.o.Directory.Users() {
		out = append(out, s.o.Directory.Keys(user.ID)...)
	}
	slices.SortFunc(out, func(a, b *account.Key) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return out, nil
}

// DeleteKey deletes a key, by its ID or, for the caller's own keys, by name. Owners may
// delete any user's key, so that a leaked key can be revoked immediately.
func (s *Service) DeleteKey(ctx context.Context, p *Principal, name string) error {
	if !p.Owner() {
		if _, err := s.needPerson(p); err != nil {
			return err
		}
	}
	key, found := s.o.Directory.Key(account.KeyID(name))
	if !found || key.User != p.Actor.User && !p.Owner() {
		own := s.o.Directory.Keys(p.Actor.User)
		i := slices.IndexFunc(own, func(k *account.Key) bool { return k.Name == name })
		if i < 0 {
			return fmt.Errorf("%w: %.80q", ErrKeyNotFound, name)
		}
		key = own[i]
	}
	return s.appendChange(ctx, &event.KeyDeleted{ID: key.ID, User: key.User, By: p.Actor, At: s.nowUTC()})
}
