package signature

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Names and bounds of Standard Webhooks.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"

	// Window is how far the signed time may be from now, before or after.
	Window = 5 * time.Minute
	// MaxSignatures bounds the signatures of one delivery that are checked; the rest are
	// ignored.
	MaxSignatures = 16

	secretPrefix  = "whsec_"
	versionPrefix = "v1,"
)

// MinSecretBytes is the length of the shortest secret that ParseSecret accepts.
const MinSecretBytes = 16

// ErrSecret means that a configured secret cannot be used.
var ErrSecret = errors.New("secret is not usable")

// ParseSecret decodes a secret of the form whsec_ + base64. Its error does not contain
// the secret.
func ParseSecret(s string) ([]byte, error) {
	encoded, found := strings.CutPrefix(s, secretPrefix)
	if !found {
		return nil, fmt.Errorf("%w: want %s followed by base64", ErrSecret, secretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: what follows %s is not base64", ErrSecret, secretPrefix)
	}
	if len(key) < MinSecretBytes {
		return nil, fmt.Errorf("%w: %d bytes, want at least %d", ErrSecret, len(key), MinSecretBytes)
	}
	return key, nil
}

// Standard holds the three headers of Standard Webhooks.
type Standard struct {
	ID, Timestamp, Signature string
}

// Verify checks the signature of body at the time now. Secrets are decoded by
// ParseSecret.
func (s Standard) Verify(body []byte, now time.Time, secrets ...[]byte) error {
	if s.Signature == "" {
		return ErrMissing
	}
	seconds, err := strconv.ParseInt(s.Timestamp, 10, 64)
	if err != nil || s.ID == "" || seconds < 0 {
		return ErrMalformed
	}
	offered := decodeSignatures(s.Signature)
	if len(offered) == 0 {
		return ErrMalformed
	}
	matched := 0
	for _, secret := range secrets {
		want := s.computeMAC(body, secret)
		for _, got := range offered {
			matched |= equalMAC(got, want, secret)
		}
	}
	if err := matchError(matched); err != nil {
		return err
	}
	// Checked last: the time of an unauthenticated delivery means nothing.
	if age := now.Sub(time.Unix(seconds, 0)); age > Window || age < -Window {
		return fmt.Errorf("%w: it is %s from the receiver's clock, at most %s", ErrOutsideWindow, age.Round(time.Second).Abs(), Window)
	}
	return nil
}

// SetStandard sets the headers of a delivery that is sent at the time now, as a sender
// does: Verify accepts it.
func SetStandard(h http.Header, id string, now time.Time, body, secret []byte) {
	s := Standard{ID: id, Timestamp: strconv.FormatInt(now.Unix(), 10)}
	h.Set(HeaderID, s.ID)
	h.Set(HeaderTimestamp, s.Timestamp)
	h.Set(HeaderSignature, versionPrefix+base64.StdEncoding.EncodeToString(s.computeMAC(body, secret)))
}

func (s Standard) computeMAC(body, secret []byte) []byte {
	return computeHMAC(secret, []byte(s.ID+"."+s.Timestamp+"."), body)
}

// decodeSignatures returns the v1 signatures of a header. It skips signatures of later
// versions of the scheme.
func decodeSignatures(header string) [][]byte {
	var out [][]byte
	for field := range strings.FieldsSeq(header) {
		encoded, found := strings.CutPrefix(field, versionPrefix)
		if !found || len(out) == MaxSignatures {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil && len(b) == sha256.Size {
			out = append(out, b)
		}
	}
	return out
}
