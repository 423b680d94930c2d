package azuredevops

import (
	"errors"
	"net/http"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
)

func open(base string) (ingest.Translator, error) {
	return Open(ingest.Connection{Name: "a", Kind: "azuredevops", URL: base, Secrets: []string{"new", "old"}})
}

func TestTranslate(t *testing.T) { ingesttest.RunScripts(t, open) }

func TestVerify(t *testing.T) {
	translator, err := Open(ingest.Connection{Name: "a", Kind: "azuredevops", Secrets: []string{"u:p", "word"}})
	if err != nil {
		t.Fatal(err)
	}
	basic := func(user, password string) http.Header {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header
	}
	for _, c := range []struct {
		name   string
		header http.Header
		good   bool
	}{
		{"basic", basic("u", "p"), true},
		{"wrong password", basic("u", "q"), false},
		{"bearer", http.Header{"Authorization": {"Bearer word"}}, true},
		{"wrong word", http.Header{"Authorization": {"Bearer words"}}, false},
		{"nothing", http.Header{}, false},
	} {
		if err := translator.Verify(&ingest.Request{Header: c.header}); (err == nil) != c.good || err != nil && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestByteOrderMark checks bodies that begin with a byte order mark, as some clients
// send.
func TestByteOrderMark(t *testing.T) {
	translator, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	d, err := translator.Translate(&ingest.Request{Body: []byte("\xef\xbb\xbf{\"id\":\"7\",\"eventType\":\"build.complete\"}")})
	if err != nil || d.ID != "7" || d.Outcome != ingest.Ignored {
		t.Errorf("%+v, %v", d, err)
	}
}

func FuzzTranslate(f *testing.F) {
	translator, err := open("")
	if err != nil {
		f.Fatal(err)
	}
	ingesttest.Fuzz(f, "", translator, map[string]string{
		"push": `{"id":"1","eventType":"git.push","resource":{"repository":{"id":"1","name":"a","project":{"name":"p"},"remoteUrl":"https://o@dev.azure.com/o/p/_git/a"},"refUpdates":[{"name":"refs/heads/x","oldObjectId":"` + ingest.Zeros + `","newObjectId":"1111111111111111111111111111111111111111"}]}}`,
	})
}
