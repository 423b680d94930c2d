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
	"strings"
	"time"
)

// flow is what a browser keeps between departure and arrival. It is signed, not
// encrypted: the person that it belongs to may read it.
type flow struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	Carried  string `json:"c,omitempty"`
	// Until is in seconds.
	Until int64 `json:"u"`
}

// cookieName has the prefix __Host- where the browser honors it: a neighboring
// domain cannot then plant the cookie of another flow, and sign the user in as
// somebody else.
func (c *Client) cookieName() string {
	if c.isSecure() {
		return "__Host-quarry_oidc"
	}
	return "quarry_oidc"
}

func (c *Client) isSecure() bool { return strings.HasPrefix(c.o.PublicURL, "https:") }

// flowCookie is sent along when the provider leads the browser back: that is a
// navigation, which SameSite=Lax lets through.
func (c *Client) flowCookie(value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: c.cookieName(), Value: value, Path: "/", MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: c.isSecure(), SameSite: http.SameSiteLaxMode,
	}
}

// EndCookie takes the cookie of a flow back. It goes with every answer to an
// arrival.
func (c *Client) EndCookie() *http.Cookie {
	out := c.flowCookie("", 0)
	out.MaxAge = -1
	return out
}

// flowKey keeps the keys of different uses of one secret apart.
func flowKey(secret []byte) []byte { return computeMAC(secret, []byte("quarry oidc flow 1")) }

func computeMAC(key, text []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(text)
	return m.Sum(nil)
}

// sealFlow returns f and its signature.
func (c *Client) sealFlow(f *flow) (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("oidc: seal a flow: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(append(computeMAC(c.key, text), text...)), nil
}

// maxSealed bounds the cookie that is looked at: a browser keeps 4096 bytes.
const maxSealed = 4096

// openFlow returns the flow that r's cookie holds for provider, if r arrives from it.
func (c *Client) openFlow(r *http.Request, provider string) (*flow, error) {
	cookie, err := r.Cookie(c.cookieName())
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
