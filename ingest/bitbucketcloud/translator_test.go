package bitbucketcloud

import (
	"errors"
	"net/http"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
)

func open(base string) (ingest.Translator, error) {
	return Open(ingest.Connection{Name: "a", Kind: "bitbucketCloud", URL: base, Secrets: []string{"new", "old"}})
}

func TestTranslate(t *testing.T) { ingesttest.RunScripts(t, open) }

func TestVerify(t *testing.T) {
	translator, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{}`)
	for value, good := range map[string]bool{
		ingesttest.SignHMAC("sha256=", body, []byte("old")):   true,
		ingesttest.SignHMAC("sha256=", body, []byte("other")): false,
		"sha256=": false, "sha": false, "": false,
	} {
		h := http.Header{}
		h.Set(headerSignature, value)
		if err := translator.Verify(&ingest.Request{Header: h, Body: body}); (err == nil) != good || err != nil && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	translator, err := open("")
	if err != nil {
		f.Fatal(err)
	}
	const repository = `"repository":{"uuid":"{1}","full_name":"a/b"}`
	ingesttest.Fuzz(f, headerEvent, translator, map[string]string{
		"repo:push":    `{` + repository + `,"push":{"changes":[{"old":null,"new":{"type":"branch","name":"x","target":{"hash":"1111111111111111111111111111111111111111"}}}]}}`,
		"repo:updated": `{` + repository + `}`,
	})
}
