package codehosts

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hooks"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestAzureDevOpsHooksAuthenticate delivers with the credentials that "hooks install"
// gives to a host. The receiver accepts them for every secret of the connection, and no
// others.
func TestAzureDevOpsHooksAuthenticate(t *testing.T) {
	const basic, word, wrong = "quarry:0123456789abcdef", "fedcba9876543210", "quarry:0123456789abcdeg"
	translator, err := Translators()[code.AzureDevOps](ingest.Connection{Name: "hub", Kind: code.AzureDevOps, Secrets: []string{basic, word}})
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]error{basic: nil, word: nil, wrong: ingest.ErrUnauthenticated} {
		delivery := httptest.NewRequest(http.MethodPost, "/webhooks/azuredevops/hub", nil)
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				var in struct {
					Consumer map[string]string `json:"consumerInputs"`
				}
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					t.Error(err)
				}
				if user := in.Consumer["basicAuthUsername"]; user != "" {
					delivery.SetBasicAuth(user, in.Consumer["basicAuthPassword"])
				}
				if name, value, ok := strings.Cut(in.Consumer["httpHeaders"], ":"); ok {
					delivery.Header.Set(name, strings.TrimSpace(value))
				}
			}
			_, _ = w.Write([]byte(`{"count":0,"value":[]}`)) // the client notices an incomplete response
		}))
		c := discovery.Connection{Name: "hub", Kind: code.AzureDevOps, URL: host.URL, Token: "t", Targets: discovery.Targets{Orgs: []string{"tea"}}}
		registrar, err := hooks.Open(c, hostapi.NewTransport(hostapi.Options{Attempts: 1}).Client(), "https://quarry.example/webhooks/azuredevops/hub", secret)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range registrar.Install(t.Context()) {
			if result.Err != nil {
				t.Errorf("%+v", result)
			}
		}
		host.Close()
		if err := translator.Verify(&ingest.Request{Header: delivery.Header}); !errors.Is(err, want) {
			t.Errorf("a delivery with the credential of %q: %v, want %v", secret, err, want)
		}
	}
}
