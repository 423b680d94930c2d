package oidc

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// flow is the state that a browser holds between departure and arrival. It is signed, not
// encrypted: the person that it belongs to may read it.
type flow struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // PKCE verifier
	Carried  string `json:"c,omitempty"`
	// Until is the expiry time in Unix seconds.
	Until int64 `json:"u"`
}

// flowCookieName is the name of the flow cookie, before the prefix of the public URL: unless
// that has a path, a sibling domain cannot then plant the cookie of another flow and sign
// the user in as another person.
const flowCookieName = "quarry_oidc"

// flowCookie returns the cookie of a flow. SameSite=Lax lets browsers send it with the
// provider's redirect, which is a navigation.
func (c *Client) flowCookie(value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: c.public.CookieName(flowCookieName), Value: value, Path: c.public.CookiePath(), MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: c.public.IsSecure(), SameSite: http.SameSiteLaxMode,
	}
}

// EndCookie returns a cookie that deletes the flow's cookie. It is part of every response
// to an arrival.
func (c *Client) EndCookie() *http.Cookie {
	out := c.flowCookie("", 0)
	out.MaxAge = -1
	return out
}

// flowKey derives a key for flows, so that different uses of one secret have different
// keys.
func flowKey(secret []byte) []byte { return computeMAC(secret, []byte("quarry oidc flow 1")) }

func computeMAC(key, text []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(text)
	return m.Sum(nil)
}

// sealFlow returns f with its signature.
func (c *Client) sealFlow(f *flow) (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("oidc: seal a flow: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(append(computeMAC(c.key, text), text...)), nil
}

// maxSealed bounds the accepted cookie: browsers store up to 4096 bytes.
const maxSealed = 4096

// openFlow returns the flow for provider in the cookie of r, if r arrives from it.
func (c *Client) openFlow(r *http.Request, provider string) (*flow, error) {
	cookie, err := r.Cookie(c.public.CookieName(flowCookieName))
	if err != nil || len(cookie.Value) > maxSealed {
		return nil, fmt.Errorf("%w: no cookie", ErrFlow)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(sealed) < sha256.Size {
		return nil, fmt.Errorf("%w: the cookie is damaged", ErrFlow)
	}
	signature, text := sealed[:sha256.Size], sealed[sha256.Size:]
	if !hmac.Equal(signature, computeMAC(c.key, text)) {
		return nil, fmt.Errorf("%w: the cookie's signature is wrong", ErrFlow)
	}
	var f flow
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: decode the cookie: %w", ErrFlow, err)
	}
	return &f, c.checkFlow(&f, provider, r.URL.Query().Get("state"))
}

func (c *Client) checkFlow(f *flow, provider, state string) error {
	switch {
	case f.Provider != provider:
		return fmt.Errorf("%w: the cookie belongs to another provider", ErrFlow)
	case c.o.Now().Unix() >= f.Until:
		return fmt.Errorf("%w: it has expired", ErrFlow)
	case subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1:
		return fmt.Errorf("%w: the state is another", ErrFlow)
	case !c.used.markUsed(f.State, time.Unix(f.Until, 0), c.o.Now()):
		return fmt.Errorf("%w: it was used before", ErrFlow)
	}
	return nil
}
