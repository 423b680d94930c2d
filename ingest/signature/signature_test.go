package signature_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
)

// TestHMACKnownAnswer uses the test vector of GitHub's guide to validating deliveries.
func TestHMACKnownAnswer(t *testing.T) {
	secret, body := []byte("It's a Secret to Everybody"), []byte("Hello, World!")
	const want = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	if got := ingesttest.SignHMAC(signature.GitHubPrefix, body, secret); got != want {
		t.Errorf("sign: %s, want %s", got, want)
	}
	if err := signature.HMAC(want, signature.GitHubPrefix, body, []byte("old"), secret); err != nil {
		t.Errorf("verify with the second secret: %v", err)
	}
}

func TestHMACRefuses(t *testing.T) {
	secret, body := []byte("s"), []byte("b")
	good := ingesttest.SignHMAC("sha256=", body, secret)
	for _, tc := range []struct {
		name, signature string
		body, secret    []byte
		want            error
	}{
		{"missing", "", body, secret, signature.ErrMissing},
		{"no prefix", good[7:], body, secret, signature.ErrMalformed},
		{"sha1", "sha1=" + good[7:], body, secret, signature.ErrMalformed},
		{"short", good[:20], body, secret, signature.ErrMalformed},
		{"only prefix", "sha256=", body, secret, signature.ErrMalformed},
		{"no hex", "sha256=" + strings.Repeat("z", 64), body, secret, signature.ErrMalformed},
		{"other body", good, []byte("c"), secret, signature.ErrMismatch},
		{"other secret", good, body, []byte("t"), signature.ErrMismatch},
		{"empty secret", ingesttest.SignHMAC("sha256=", body, nil), body, nil, signature.ErrMismatch},
	} {
		if err := signature.HMAC(tc.signature, "sha256=", tc.body, tc.secret); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	if err := signature.HMAC(good, "sha256=", body); !errors.Is(err, signature.ErrMismatch) {
		t.Errorf("no secrets: %v", err)
	}
}

// TestStandardKnownAnswer uses the test vector that the Standard Webhooks libraries
// share.
func TestStandardKnownAnswer(t *testing.T) {
	secret, err := signature.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	header, body, sent := http.Header{}, []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0)
	signature.SetStandard(header, "msg_p5jXN8AQM9LWM0D4loKWxJek", sent, body, secret)
	s := readStandard(header)
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if s.Signature != want || s.Timestamp != "1614265330" {
		t.Fatalf("signed: %+v, want %s", s, want)
	}
	s.Signature = "v1a,xyz v1,AAAA " + want
	if err := s.Verify(body, sent, []byte("another"), secret); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// readStandard returns the Standard Webhooks headers of a delivery.
func readStandard(h http.Header) signature.Standard {
	return signature.Standard{ID: h.Get(signature.HeaderID), Timestamp: h.Get(signature.HeaderTimestamp), Signature: h.Get(signature.HeaderSignature)}
}

func TestStandardRefuses(t *testing.T) {
	secret, body := []byte("0123456789abcdef"), []byte("{}")
	now := time.Unix(1_700_000_000, 0)
	header := http.Header{}
	signature.SetStandard(header, "msg_1", now, body, secret)
	good := readStandard(header)
	for _, tc := range []struct {
		name   string
		change func(*signature.Standard)
		now    time.Time
		want   error
	}{
		{"as signed", func(*signature.Standard) {}, now, nil},
		{"at the edge", func(*signature.Standard) {}, now.Add(signature.Window), nil},
		{"too late", func(*signature.Standard) {}, now.Add(signature.Window + time.Second), signature.ErrOutsideWindow},
		{"from the future", func(*signature.Standard) {}, now.Add(-signature.Window - time.Second), signature.ErrOutsideWindow},
		{"missing", func(s *signature.Standard) { s.Signature = "" }, now, signature.ErrMissing},
		{"no id", func(s *signature.Standard) { s.ID = "" }, now, signature.ErrMalformed},
		{"no time", func(s *signature.Standard) { s.Timestamp = "" }, now, signature.ErrMalformed},
		{"time in words", func(s *signature.Standard) { s.Timestamp = "now" }, now, signature.ErrMalformed},
		{"other id", func(s *signature.Standard) { s.ID = "msg_2" }, now, signature.ErrMismatch},
		{"other time", func(s *signature.Standard) { s.Timestamp = "1700000001" }, now, signature.ErrMismatch},
		{"other version", func(s *signature.Standard) { s.Signature = "v2" + s.Signature[2:] }, now, signature.ErrMalformed},
		{"too many", func(s *signature.Standard) {
			other := "v1," + base64.StdEncoding.EncodeToString(make([]byte, 32)) + " "
			s.Signature = strings.Repeat(other, signature.MaxSignatures) + s.Signature
		}, now, signature.ErrMismatch},
	} {
		s := good
		tc.change(&s)
		if err := s.Verify(body, tc.now, secret); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
}

func TestParseSecretRefuses(t *testing.T) {
	for _, s := range []string{"", "whsec_", "plain", "whsec_***", "whsec_c2hvcnQ="} {
		if _, err := signature.ParseSecret(s); !errors.Is(err, signature.ErrSecret) {
			t.Errorf("%q: %v, want ErrSecret", s, err)
		}
	}
}

func TestToken(t *testing.T) {
	for _, tc := range []struct {
		token   string
		secrets [][]byte
		want    error
	}{
		{"secret", [][]byte{[]byte("old"), []byte("secret")}, nil},
		{"", [][]byte{[]byte("secret")}, signature.ErrMissing},
		{"", [][]byte{nil}, signature.ErrMissing},
		{"secre", [][]byte{[]byte("secret")}, signature.ErrMismatch},
		{"secret", nil, signature.ErrMismatch},
	} {
		if err := signature.Token(tc.token, tc.secrets...); !errors.Is(err, tc.want) {
			t.Errorf("%q: %v, want %v", tc.token, err, tc.want)
		}
	}
	if err := signature.Basic("user", "pass", []byte("user:pass")); err != nil {
		t.Errorf("basic: %v", err)
	}
	if err := signature.Basic("user", "word", []byte("user:pass")); !errors.Is(err, signature.ErrMismatch) {
		t.Errorf("basic with another password: %v", err)
	}
}

func FuzzStandard(f *testing.F) {
	f.Add("id", "1700000000", "v1,AAAA", []byte("{}"))
	f.Fuzz(func(t *testing.T, id, at, sig string, body []byte) {
		s := signature.Standard{ID: id, Timestamp: at, Signature: sig}
		if err := s.Verify(body, time.Unix(1_700_000_000, 0), []byte("0123456789abcdef")); err == nil {
			t.Fatal("a guessed signature was accepted")
		}
	})
}
