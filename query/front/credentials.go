package front

import (
	"mime"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// credentialHeaders and the session's cookie are where a credential may be; the
// Authenticator reads it.
var credentialHeaders = []string{"Authorization", "X-Service-Api-Key", "X-Sourcebot-Api-Key"}

// hasCredential reports whether r shows anything that could be one.
func hasCredential(r *http.Request) bool { return hasKey(r) || hasCookie(r) }

// hasKey reports whether r carries what a browser sends to another origin only
// after a preflight.
func hasKey(r *http.Request) bool {
	for _, name := range credentialHeaders {
		if len(r.Header.Values(name)) > 0 {
			return true
		}
	}
	return false
}

// hasCookie reports whether r carries what a browser sends by itself.
func hasCookie(r *http.Request) bool {
	_, err := r.Cookie(auth.CookieName)
	return err == nil
}

// anonymousPrincipal returns the sender of r before authentication. Behind a trusted proxy,
// ClientAddresses has put the client's address there.
func anonymousPrincipal(r *http.Request) *auth.Principal {
	return &auth.Principal{Actor: account.Actor{Kind: account.ActorAnonymous, Address: auth.PeerAddress(r), Client: auth.ClientOf(r)}}
}

// checkMediaType refuses a body that is declared as something other than JSON, if
// only a session's cookie authenticates the caller. A form of another origin's page
// could send that cookie with such a body, and JSON only after a preflight: this is
// a second line of defense after checkOrigin. Elsewhere a body is JSON whatever it
// declares: fetch declares text/plain, and curl -d a form.
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
