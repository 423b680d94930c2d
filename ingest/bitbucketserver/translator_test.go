package bitbucketserver

import (
	"errors"
	"net/http"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
)

func open(base string) (ingest.Translator, error) {
	return Open(ingest.Connection{Name: "a", Kind: "bitbucketServer", URL: base, Secrets: []string{"new", "old"}})
}

func TestTranslate(t *testing.T) { ingesttest.RunScripts(t, open) }

// TestVerify checks that signatures are accepted, and basic authentication only if tokens
// are allowed and the delivery is unsigned. A short header is an error, not a panic.
func TestVerify(t *testing.T) {
	body := []byte(`{}`)
	header := func(name, value string) http.Header { h := http.Header{}; h.Set(name, value); return h }
	basic := func(user, password string) http.Header {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header
	}
	for _, c := range []struct {
		name       string
		allowToken bool
		header     http.Header
		good       bool
	}{
		{"signed", false, header(headerSignature, ingesttest.SignHMAC("sha256=", body, []byte("u:p"))), true},
		{"short", false, header(headerSignature, "sha256"), false},
		{"SHA-1", false, header(headerSignature, "sha1=0123456789012345678901234567890123456789"), false},
		{"unsigned", true, http.Header{}, false},
		{"basic", true, basic("u", "p"), true},
		{"basic, not allowed", false, basic("u", "p"), false},
		{"basic, wrong", true, basic("u", "q"), false},
	} {
		translator, err := Open(ingest.Connection{Name: "a", Kind: "bitbucketServer", URL: "https://bitbucket.example.org", Secrets: []string{"u:p"}, AllowToken: c.allowToken})
		if err != nil {
			t.Fatal(err)
		}
		if err := translator.Verify(&ingest.Request{Header: c.header, Body: body}); (err == nil) != c.good || err != nil && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	translator, err := open("https://bitbucket.example.org")
	if err != nil {
		f.Fatal(err)
	}
	ingesttest.Fuzz(f, headerEvent, translator, map[string]string{
		"repo:refs_changed": `{"repository":{"id":1,"slug":"a","project":{"key":"P"}},"changes":[{"ref":{"id":"refs/heads/x"},"fromHash":"` + ingest.Zeros + `","toHash":"1111111111111111111111111111111111111111"}]}`,
		"repo:modified":     `{"new":{"id":1,"slug":"a","project":{"key":"~P"}}}`,
	})
}
