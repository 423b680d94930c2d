package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/quarrysearch/quarry/schemas/account"
)

// claims are the claims that we read from an ID token or a userinfo response.
type claims struct {
	AuthorizedParty string   `json:"azp"`
	Email           string   `json:"email"`
	EmailVerified   *boolean `json:"email_verified"`
	Name            string   `json:"name"`
	Username        string   `json:"preferred_username"`
}

// boolean also accepts "true": some providers write it that way.
type boolean bool

// UnmarshalJSON implements json.Unmarshaler.
func (b *boolean) UnmarshalJSON(text []byte) error {
	*b = boolean(slices.Contains([]string{`true`, `"true"`}, string(text)))
	return nil
}

// identifyPerson returns the person that a token identifies.
func (c *Client) identifyPerson(ctx context.Context, r *remote, p *providerMetadata, token *oauth2.Token, nonce string) (*Arrival, error) {
	id, said, err := c.verifyToken(ctx, r, p, token, nonce)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if err := id.Claims(&all); err != nil {
		return nil, fmt.Errorf("%w: decode the claims: %w", ErrToken, err)
	}
	silent := said.Email == "" || said.EmailVerified == nil && !r.config.TrustEmail
	_, found := all[r.config.HostClaim]
	if (silent || r.config.HostClaim != "" && !found) && p.provider.UserInfoEndpoint() != "" {
		more, others, err := readUserinfo(ctx, p, token, id.Subject)
		if err != nil {
			return nil, err
		}
		if silent {
			said.Email, said.EmailVerified = more.Email, more.EmailVerified
			said.Name, said.Username = firstOf(said.Name, more.Name), firstOf(said.Username, more.Username)
		}
		if !found {
			all = others
		}
	}
	arrival := &Arrival{
		Identity: account.Identity{Issuer: r.config.Issuer, Subject: id.Subject},
		Name:     shortName(firstOf(said.Name, said.Username)),
	}
	if r.config.HostClaim != "" {
		arrival.HostUser = readHostUser(&r.config, all)
	}
	arrival.Email, err = verifiedEmail(&r.config, said)
	return arrival, err
}

// maxHostClaimBytes bounds the ID of a code host user in a claim. Account IDs of
// Atlassian have up to 128 bytes.
const maxHostClaimBytes = 128

// readHostUser returns the identity of a person at a code host from a claim that is a
// string or a positive integer; zero if the claim is absent or anything else.
func readHostUser(p *Provider, claims map[string]json.RawMessage) account.Identity {
	var text string
	var number int64
	if json.Unmarshal(claims[p.HostClaim], &text) != nil && json.Unmarshal(claims[p.HostClaim], &number) == nil && number > 0 {
		text = strconv.FormatInt(number, 10)
	}
	if text == "" || len(text) > maxHostClaimBytes {
		return account.Identity{}
	}
	return account.Identity{Issuer: HostIssuer(p.Issuer, p.HostClaim), Subject: account.ShortenHostUser(text)}
}

// HostIssuer returns the issuer of identities whose subjects are IDs of users at a code
// host: the provider itself, or its claim.
func HostIssuer(issuer, claim string) string {
	if claim == "" {
		return issuer
	}
	return issuer + account.HostClaimSeparator + claim
}

// verifyToken verifies the ID token that comes with token and returns it.
func (c *Client) verifyToken(ctx context.Context, r *remote, p *providerMetadata, token *oauth2.Token, nonce string) (*goidc.IDToken, *claims, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, nil, fmt.Errorf("%w: no ID token", ErrToken)
	}
	verifier := p.provider.Verifier(&goidc.Config{
		ClientID: r.config.ClientID,
		Now:      func() time.Time { return c.o.Now().Add(-MaxSkew) },
	})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	var said claims
	if err := id.Claims(&said); err != nil {
		return nil, nil, fmt.Errorf("%w: decode the claims: %w", ErrToken, err)
	}
	if err := c.checkToken(id, &said, r.config.ClientID, nonce); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrToken, err)
		}
	}
	return id, &said, nil
}

// maxSubjectBytes is the bound of OpenID Connect Core, section 2.
const maxSubjectBytes = 255

// checkToken checks what the library leaves to its caller.
func (c *Client) checkToken(id *goidc.IDToken, said *claims, client, nonce string) error {
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return errors.New("the nonce is another")
	case id.Subject == "" || len(id.Subject) > maxSubjectBytes:
		return fmt.Errorf("a subject of %d bytes", len(id.Subject))
	case said.AuthorizedParty != "" && said.AuthorizedParty != client, len(id.Audience) > 1 && said.AuthorizedParty == "":
		return fmt.Errorf("it was issued to %.100q", said.AuthorizedParty)
	case id.IssuedAt.After(c.o.Now().Add(MaxSkew)):
		return fmt.Errorf("it was issued at %v, which is to come", id.IssuedAt)
	}
	return nil
}

// readUserinfo returns the claims of the userinfo endpoint: those that we read for every
// provider, and all of them. They must be about the same person.
func readUserinfo(ctx context.Context, p *providerMetadata, token *oauth2.Token, subject string) (more claims, all map[string]json.RawMessage, err error) {
	info, err := p.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return claims{}, nil, fmt.Errorf("%w: userinfo: %w", ErrUnavailable, err)
	}
	if info.Subject != subject {
		return claims{}, nil, fmt.Errorf("%w: userinfo is about another user", ErrToken)
	}
	if err := errors.Join(info.Claims(&more), info.Claims(&all)); err != nil {
		return claims{}, nil, fmt.Errorf("%w: userinfo: %w", ErrToken, err)
	}
	return more, all, nil
}

// verifiedEmail returns the address if it counts as verified, and empty if there is none.
// With a list of domains there must be one.
func verifiedEmail(p *Provider, said *claims) (string, error) {
	address := account.LowerEmail(strings.TrimSpace(said.Email))
	if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address || len(address) > account.MaxEmailBytes {
		address = ""
	}
	if verified := said.EmailVerified; verified == nil && !p.TrustEmail || verified != nil && !bool(*verified) {
		address = ""
	}
	if len(p.AllowedDomains) == 0 {
		return address, nil
	}
	if address == "" {
		return "", ErrEmail
	}
	domain := address[strings.LastIndexByte(address, '@')+1:]
	if !slices.ContainsFunc(p.AllowedDomains, func(d string) bool { return strings.ToLower(d) == domain }) {
		return "", fmt.Errorf("%w: %.200q", ErrDomain, domain)
	}
	return address, nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// shortName truncates a name to account.MaxNameBytes at a character boundary.
func shortName(name string) string {
	name = strings.TrimSpace(strings.ToValidUTF8(name, ""))
	for len(name) > account.MaxNameBytes {
		name = name[:len(name)-1]
		name = strings.ToValidUTF8(name, "")
	}
	return name
}
