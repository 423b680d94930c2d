package gerrit

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
)

func open(base string) (ingest.Translator, error) {
	return Open(ingest.Connection{Name: "a", Kind: "gerrit", URL: base, Secrets: []string{"new", "old"}})
}

func TestTranslate(t *testing.T) { ingesttest.RunScripts(t, open) }

func TestVerify(t *testing.T) {
	translator, err := open("https://review.example.org")
	if err != nil {
		t.Fatal(err)
	}
	for token, good := range map[string]bool{"new": true, "old": true, "other": false, "": false} {
		err := translator.Verify(&ingest.Request{Header: http.Header{}, Query: url.Values{queryToken: {token}}})
		if (err == nil) != good || err != nil && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

// TestVerifyAddress checks the sender's address and the secret, alone and together.
func TestVerifyAddress(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::7/128")}
	for _, c := range []struct {
		secrets       []string
		client, token string
		good          bool
	}{
		{nil, "192.0.2.9", "", true},
		{nil, "2001:db8::7", "", true},
		{nil, "192.0.3.9", "", false},
		{nil, "2001:db8::8", "", false},
		{nil, "", "", false}, // unknown sender
		{nil, "192.0.3.9", "s3cret", false},
		{[]string{"s3cret"}, "192.0.2.9", "s3cret", true},
		{[]string{"s3cret"}, "192.0.2.9", "", false},
		{[]string{"s3cret"}, "192.0.3.9", "s3cret", false},
	} {
		translator, err := Open(ingest.Connection{Name: "a", Kind: "gerrit", URL: "https://review.example.org", Secrets: c.secrets, Addresses: networks})
		if err != nil {
			t.Fatal(err)
		}
		client, _ := netip.ParseAddr(c.client)
		err = translator.Verify(&ingest.Request{Client: client, Query: url.Values{queryToken: {c.token}}, Header: http.Header{"X-Forwarded-For": {"192.0.2.9"}}})
		if (err == nil) != c.good || err != nil && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := Open(ingest.Connection{Name: "a", Kind: "gerrit", URL: "https://review.example.org"}); err == nil {
		t.Error("a connection without secrets and addresses is opened")
	}
}

// TestSameEventHasSameID checks resent events: the plugin sends no ID, and retries events
// that failed.
func TestSameEventHasSameID(t *testing.T) {
	translator, err := open("https://review.example.org")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, body := range []string{`{"type":"a"}`, `{"type":"a"}`, `{"type":"b"}`} {
		d, err := translator.Translate(&ingest.Request{Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		ids[d.ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("two events have the IDs %v", ids)
	}
}

func FuzzTranslate(f *testing.F) {
	translator, err := open("https://review.example.org/a")
	if err != nil {
		f.Fatal(err)
	}
	ingesttest.Fuzz(f, "", translator, map[string]string{
		"one":   `{"type":"ref-updated","eventCreatedOn":1700000000,"refUpdate":{"oldRev":"` + ingest.Zeros + `","newRev":"1111111111111111111111111111111111111111","refName":"refs/heads/x","project":"a/b"}}`,
		"batch": `{"type":"batch-ref-updated","refUpdates":[{"oldRev":"` + ingest.Zeros + `","newRev":"1111111111111111111111111111111111111111","refName":"x","project":"a"}]}`,
		"head":  `{"type":"project-head-updated","projectName":"a","newHead":"refs/heads/x"}`,
	})
}
