package gerrit

import (
	"errors"
	"net/http"
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

// TestSameEventHasSameID: the plugin sends no ID, and sends an event again that failed.
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
