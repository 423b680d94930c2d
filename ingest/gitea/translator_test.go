package gitea

import (
	"errors"
	"net/http"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
)

func open(base string) (ingest.Translator, error) {
	return Open(ingest.Connection{Name: "a", Kind: "gitea", URL: base, Secrets: []string{"new", "old"}})
}

func TestTranslate(t *testing.T) { ingesttest.RunScripts(t, open) }

// TestVerify signs JSON and JSON in a form.
func TestVerify(t *testing.T) {
	translator, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for _, c := range []struct {
		name, body, signed, secret string
		header                     http.Header
		good                       bool
	}{
		{"JSON", `{"a":1}`, `{"a":1}`, "old", http.Header{}, true},
		{"form", `payload=%7B%22a%22%3A1%7D`, `{"a":1}`, "new", form, true},
		{"signed form encoding", `payload=%7B%22a%22%3A1%7D`, `payload=%7B%22a%22%3A1%7D`, "new", form, false},
		{"another body", `{"a":1}`, `{"a":2}`, "old", http.Header{}, false},
		{"another secret", `{"a":1}`, `{"a":1}`, "other", http.Header{}, false},
		{"empty signature, as without a secret", `{"a":1}`, "", "", http.Header{}, false},
	} {
		r := &ingest.Request{Header: c.header.Clone(), Body: []byte(c.body)}
		r.Header.Set(headerSignature, "")
		if c.secret != "" {
			r.Header.Set(headerSignature, ingesttest.SignHMAC("", []byte(c.signed), []byte(c.secret)))
		}
		if err := translator.Verify(r); (err == nil) != c.good || err != nil && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	translator, err := open("")
	if err != nil {
		f.Fatal(err)
	}
	const repository = `"repository":{"id":42,"full_name":"a/b","clone_url":"https://gitea.com/a/b.git"}}`
	ingesttest.Fuzz(f, headerEvent, translator, map[string]string{
		"push":   `{"ref":"refs/heads/x","before":"` + ingest.Zeros + `","after":"1111111111111111111111111111111111111111",` + repository,
		"delete": `{"ref":"x","ref_type":"branch",` + repository,
	})
}
