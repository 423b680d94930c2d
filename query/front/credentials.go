package front

import (
	"mime"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/account"
)

// credentialHeaders are the headers that may carry a credential, as the session cookie
// may. The Authenticator reads them.
var credentialHeaders = []string{"Authorization", "X-Service-Api-Key", "X-Sourcebot-Api-Key"}

// hasKey reports whether r carries a header that a browser sends to another origin only
// after a preflight.
func hasKey(r *http.Request) bool {
	for _, name := range credentialHeaders {
		if len(r.Header.Values(name)) > 0 {
			return true
		}
	}
	return false
}

// sessionCookieNames are the names that the session cookie may have.
var sessionCookieNames = publicurl.CookieNames(auth.CookieName)

// hasCookie reports whether r carries a session cookie, which browsers send
// automatically.
func hasCookie(r *http.Request) bool {
	for _, name := range sessionCookieNames {
		if _, err := r.Cookie(name); err == nil {
			return true
		}
	}
	return false
}

// anonymousPrincipal returns the principal of r before authentication. ClientAddresses
// has already replaced the address of a trusted proxy with the client's.
func anonymousPrincipal(r *http.Request) *auth.Principal {
	return &auth.Principal{Actor: account.Actor{Kind: account.ActorAnonymous, Address: auth.PeerAddress(r), Client: auth.ClientOf(r)}}
}

// checkMediaType refuses a body that is declared as something other than JSON if only a
// session cookie authenticates the caller. A form on another origin's page could send
// that cookie with such a body, but JSON only after a preflight, so this is a second line
// of defense after checkOrigin. Other callers may declare any type: fetch declares
// text/plain, and curl -d a form.
func checkMediaType(r *http.Request) error {
	declared := r.Header.Get("Content-Type")
	if r.ContentLength == 0 || declared == "" || !hasCookie(r) || hasKey(r) {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(declared); err == nil && kind == "application/json" {
		return nil
	}
	return &MediaTypeError{declared}
}
