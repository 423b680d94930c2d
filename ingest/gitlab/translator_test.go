package gitlab

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
)

func open(base string) (ingest.Translator, error) {
	return Open(ingest.Connection{Name: "a", Kind: "gitlab", URL: base, Secrets: []string{"s"}})
}

func TestTranslate(t *testing.T) { ingesttest.RunScripts(t, open) }

// TestVerify checks that the secret token or a signature is required, with either of two
// secrets, and that an unsigned delivery is rejected if only a signing token is
// configured.
func TestVerify(t *testing.T) {
	const signing = "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="
	now := time.Unix(1_700_000_000, 0)
	key, err := signature.ParseSecret(signing)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{}`)
	signed, forged := http.Header{}, http.Header{}
	signature.SetStandard(signed, "d-1", now, body, key)
	signature.SetStandard(forged, "d-1", now, body, []byte("another secret.."))
	for _, c := range []struct {
		name    string
		secrets []string
		header  http.Header
		good    bool
	}{
		{"token", []string{"new", "old"}, http.Header{headerToken: {"old"}}, true},
		{"wrong token", []string{"new", "old"}, http.Header{headerToken: {"other"}}, false},
		{"no token", []string{"new"}, http.Header{}, false},
		{"signature", []string{signing}, signed, true},
		{"signature beside a token", []string{"new", signing}, signed, true},
		{"token beside a signing token", []string{"new", signing}, http.Header{headerToken: {"new"}}, true},
		{"forged signature", []string{"new", signing}, forged, false},
		{"signing token sent as it is", []string{signing}, http.Header{headerToken: {signing}}, false},
	} {
		translator, err := Open(ingest.Connection{Name: "a", Kind: "gitlab", Secrets: c.secrets})
		if err != nil {
			t.Fatal(err)
		}
		err = translator.Verify(&ingest.Request{Header: c.header, Body: body, ReceivedAt: now})
		if (err == nil) != c.good || err != nil && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []ingest.Connection{
		{Name: "a"}, {Name: "a", Secrets: []string{""}}, {Name: "a", Secrets: []string{"whsec_short"}},
		{Name: "a", Secrets: []string{"s"}, URL: "gitlab.example"}, {Name: "a", Secrets: []string{"s"}, URL: "https://user:secret@gitlab.example"},
	} {
		if _, err := Open(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	translator, err := open("")
	if err != nil {
		f.Fatal(err)
	}
	ingesttest.Fuzz(f, headerEvent, translator, map[string]string{
		"Push Hook":   `{"event_name":"push","ref":"refs/heads/main","before":"` + ingest.Zeros + `","after":"1111111111111111111111111111111111111111","project":{"id":1,"path_with_namespace":"a/b","git_http_url":"https://gitlab.com/a/b.git"}}`,
		"System Hook": `{"event_name":"project_rename","project_id":1,"path_with_namespace":"a/b","project_visibility":"public"}`,
	})
}
