package auth

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// TokenTTL is how long a scoped access token lasts.
	TokenTTL = time.Hour
	// maxMints bounds the tokens that a key mints within TokenTTL in this process, and
	// thereby the number of tokens.
	maxMints = 1000
)

// tokenMints counts the tokens minted by each key.
type tokenMints struct {
	mu struct {
		sync.Mutex
		since time.Time
		keys  map[account.KeyID]int
	}
}

// allowMint reports whether a key may mint one more token. All counts are reset when the
// first of the counted tokens has expired.
func (m *tokenMints) allowMint(key account.KeyID, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.keys == nil || now.Sub(m.mu.since) >= TokenTTL {
		m.mu.since, m.mu.keys = now, map[account.KeyID]int{}
	}
	if m.mu.keys[key] >= maxMints {
		return false
	}
	m.mu.keys[key]++
	return true
}

// needKey returns an error unless p has authenticated with an API key: tokens end with
// the credential that minted them, and only that kind may mint and revoke them.
func needKey(p *Principal) error {
	switch p.Actor.Kind {
	case account.ActorKey:
		return nil
	case account.ActorAnonymous:
		return ErrUnauthenticated
	}
	return fmt.Errorf("%w: scoped access tokens can only be created and revoked with an API key", ErrForbidden)
}

// MintToken creates a token that reads some repositories for TokenTTL, with the scopes of
// the key except admin. Its value is returned only here. Every repository must exist for
// the key.
func (s *Service) MintToken(ctx context.Context, p *Principal, ids []code.RepositoryID) (*account.Token, string, error) {
	if err := needKey(p); err != nil {
		return nil, "", err
	}
	if len(ids) == 0 {
		return nil, "", invalidField("repoIds", "want at least one")
	}
	ids, err := s.checkRestriction(ctx, p, ids)
	if err != nil {
		return nil, "", err
	}
	now, value := s.nowUTC(), newValue(account.PublicPrefixToken)
	if !s.mints.allowMint(account.KeyID(p.Actor.Credential), now) {
		return nil, "", fmt.Errorf("%w: a key can create at most %d tokens in %s", ErrTooMany, maxMints, TokenTTL)
	}
	ev := &event.TokenMinted{
		Token: account.TokenID(newID()), MintedBy: account.KeyID(p.Actor.Credential), User: p.Actor.User, Hash: s.digests.hashCredential(value),
		Repositories: ids, ExpiresAt: now.Add(TokenTTL), By: p.Actor, At: now,
	}
	if err := s.appendChange(ctx, ev); err != nil {
		return nil, "", err
	}
	token, found := s.o.Directory.Token(ev.Token)
	if _, minter := s.o.Directory.Key(ev.MintedBy); !minter {
		return nil, "", ErrUnauthenticated // the key has just been deleted
	}
	if !found {
		return nil, "", fmt.Errorf("%w: the key has too many tokens; they expire within %s", ErrTooMany, TokenTTL)
	}
	return token, value, nil
}

// RevokeToken revokes a token that a key of p's user has minted.
func (s *Service) RevokeToken(ctx context.Context, p *Principal, id account.TokenID) error {
	if err := needKey(p); err != nil {
		return err
	}
	token, found := s.o.Directory.Token(id)
	if !found || token.User != p.Actor.User || hasExpired(token.ExpiresAt, s.o.Now()) {
		return fmt.Errorf("%w: %.80q", ErrTokenNotFound, string(id))
	}
	return s.appendChange(ctx, &event.TokenRevoked{Token: id, By: p.Actor, At: s.nowUTC()})
}
