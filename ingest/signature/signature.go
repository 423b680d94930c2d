package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
)

// Errors of the checks. Callers answer each with 401.
var (
	// ErrMissing means that the delivery carries no signature.
	ErrMissing = errors.New("signature is missing")
	// ErrMalformed means that the signature does not have the format of the scheme.
	ErrMalformed = errors.New("signature is malformed")
	// ErrMismatch means that no secret produces this signature: the secret differs, or
	// the body was changed in transit.
	ErrMismatch = errors.New("signature does not match the body and any configured secret")
	// ErrOutsideWindow means that the signed time is too far from now.
	ErrOutsideWindow = errors.New("signed time is outside the accepted window")
)

// GitHubPrefix precedes the hexadecimal signature of GitHub and both Bitbuckets.
const GitHubPrefix = "sha256="

// HMAC checks that signature is prefix followed by the hexadecimal HMAC-SHA256
// of body under one of the secrets.
func HMAC(signature, prefix string, body []byte, secrets ...[]byte) error {
	if signature == "" {
		return ErrMissing
	}
	encoded, found := strings.CutPrefix(signature, prefix)
	if !found || len(encoded) != 2*sha256.Size {
		return ErrMalformed
	}
	var got [sha256.Size]byte
	if _, err := hex.Decode(got[:], []byte(encoded)); err != nil {
		return ErrMalformed
	}
	matched := 0
	for _, secret := range secrets {
		matched |= equalMAC(got[:], computeHMAC(secret, body), secret)
	}
	return matchError(matched)
}

// Token checks that token is one of the secrets.
func Token(token string, secrets ...[]byte) error {
	if token == "" {
		return ErrMissing
	}
	// Hashing both sides gives them the same length, so that the time reveals
	// nothing about the length of the secret.
	got := sha256.Sum256([]byte(token))
	matched := 0
	for _, secret := range secrets {
		want := sha256.Sum256(secret)
		matched |= equalMAC(got[:], want[:], secret)
	}
	return matchError(matched)
}

// Basic checks user and password of HTTP basic authentication against secrets
// of the form user:password.
func Basic(user, password string, secrets ...[]byte) error {
	if user == "" && password == "" {
		return ErrMissing
	}
	return Token(user+":"+password, secrets...)
}

func computeHMAC(secret []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range parts {
		_, _ = mac.Write(part)
	}
	return mac.Sum(nil)
}

// equalMAC returns 1 if got equals want and the secret of want is not empty.
func equalMAC(got, want, secret []byte) int {
	notEmpty := 0
	if len(secret) > 0 {
		notEmpty = 1
	}
	return subtle.ConstantTimeCompare(got, want) & notEmpty
}

func matchError(matched int) error {
	if matched == 1 {
		return nil
	}
	return ErrMismatch
}
