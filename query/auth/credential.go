package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/schemas/account"
)

// A credential is a prefix, which identifies its kind, and secretHexBytes
// lower-case hexadecimal characters.
const (
	// kindBytes is the length of every prefix in kinds.
	kindBytes      = 3
	secretHexBytes = 64
	// shownHexBytes of a secret are stored so that people can recognize the credential.
	shownHexBytes = 6
)

// kinds are the accepted prefixes, each with the prefix used in keyed hashes: a key has
// one hash, whichever of its prefixes is sent.
var kinds = [...]struct{ prefix, kind string }{
	{account.PublicPrefixKey, account.PrefixKey},
	{account.PrefixKey, account.PrefixKey},
	{account.LegacyPrefixKey, account.PrefixKey},
	{account.PublicPrefixToken, account.PrefixToken},
	{account.PrefixToken, account.PrefixToken},
	{account.PrefixSession, account.PrefixSession},
	{account.PrefixInvitation, account.PrefixInvitation},
	{account.PrefixSetup, account.PrefixSetup},
	{account.PrefixOperator, account.PrefixOperator},
}

// CookieName is the name of the session cookie of a server that people reach by http, at
// the root of a host. Other servers add a prefix to it (publicurl.URL.CookieName), and
// ignore cookies with another name.
const CookieName = "quarry_session"

// newValue returns a new credential with a prefix.
func newValue(prefix string) string { return prefix + newSecret() }

func newSecret() string {
	var b [secretHexBytes / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// newID returns a random ID, which is not secret.
func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// kindOf returns the kind of a credential, or empty if value is not one.
func kindOf(value string) string {
	kind, _ := splitCredential(value)
	return kind
}

// splitCredential returns the kind and the secret of a credential, or empty strings if
// value is not one. It compares lengths first, so that its cost does not depend on the
// length of value.
func splitCredential(value string) (kind, secret string) {
	for _, k := range kinds {
		if len(value) != len(k.prefix)+secretHexBytes || !strings.HasPrefix(value, k.prefix) {
			continue
		}
		secret = value[len(k.prefix):]
		for _, c := range []byte(secret) {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return "", ""
			}
		}
		return k.kind, secret
	}
	return "", ""
}

// shownCredentials are the credentials in a request; fields are empty if absent.
type shownCredentials struct {
	header string // from Authorization or one of the key headers
	cookie string
}

// readCredentials reads the credentials of r. It returns false if they are malformed or
// if headers contradict each other, because a proxy might pick a different one than we
// do.
func readCredentials(r *http.Request, cookieName string) (shownCredentials, bool) {
	var p shownCredentials
	if values := r.Header["Authorization"]; len(values) > 0 {
		value, ok := bearerCredential(values)
		if !ok {
			return p, false
		}
		p.header = value
	}
	for _, name := range [...]string{"X-Service-Api-Key", "X-Sourcebot-Api-Key"} {
		values := r.Header[name]
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 || p.header != "" && p.header != values[0] || !isHeaderKind(kindOf(values[0])) {
			return p, false
		}
		p.header = values[0]
	}
	var ok bool
	p.cookie, ok = sessionCookie(r.Header["Cookie"], cookieName)
	return p, ok
}

// bearerCredential returns the credential of the header Authorization.
func bearerCredential(values []string) (string, bool) {
	const scheme = "Bearer"
	v := values[0]
	if len(values) > 1 || len(v) <= len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) || v[len(scheme)] != ' ' {
		return "", false
	}
	value := strings.TrimLeft(v[len(scheme):], " ")
	return value, isHeaderKind(kindOf(value))
}

// isHeaderKind reports whether a credential of that kind is sent in a header.
// Sessions are not: they are kept where scripts cannot read them.
func isHeaderKind(kind string) bool {
	return kind == account.PrefixKey || kind == account.PrefixToken || kind == account.PrefixOperator
}

// sessionCookie returns the session in the Cookie header, empty if there is none. It
// parses the header itself, so that it allocates nothing for other cookies.
func sessionCookie(lines []string, cookieName string) (string, bool) {
	found := ""
	for _, line := range lines {
		for line != "" {
			var part string
			part, line, _ = strings.Cut(line, ";")
			name, value, _ := strings.Cut(strings.Trim(part, " \t"), "=")
			if name != cookieName {
				continue
			}
			if kindOf(value) != account.PrefixSession || found != "" && found != value {
				return "", false
			}
			found = value
		}
	}
	return found, true
}

// digests computes keyed hashes. The zero value with a key is usable.
type digests struct {
	key  []byte
	pool sync.Pool // of *digest
}

type digest struct {
	hash hash.Hash
	in   [kindBytes + secretHexBytes]byte
	sum  [sha256.Size]byte
	text [2 * sha256.Size]byte
}

// hashCredential returns the HMAC-SHA256 of a credential's kind and secret in
// hexadecimal. For an invalid credential it returns the hash of the empty text, which no
// credential has.
func (d *digests) hashCredential(value string) string {
	h, ok := d.pool.Get().(*digest)
	if !ok {
		h = &digest{hash: hmac.New(sha256.New, d.key)}
	}
	defer d.pool.Put(h)
	h.hash.Reset()
	kind, secret := splitCredential(value)
	n := copy(h.in[:], kind)
	n += copy(h.in[n:], secret)
	_, _ = h.hash.Write(h.in[:n]) // never fails
	h.hash.Sum(h.sum[:0])
	hex.Encode(h.text[:], h.sum[:])
	return string(h.text[:])
}
