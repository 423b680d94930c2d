package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
)

// TestBrowser walks through the pages in a real browser, with scripts and without.
// QUARRY_WEB_SHOTS=DIR saves screenshots.
func TestBrowser(t *testing.T) {
	modules, program := oidctest.Modules(t, "playwright-core"), oidctest.Browser(t)
	for _, scripts := range []bool{false, true} {
		t.Run(fmt.Sprintf("scripts=%t", scripts), func(t *testing.T) {
			if scripts && testing.Short() {
				t.Skip("short: once is enough")
			}
			yes := true
			var provider *oidctest.Provider
			w := newWorld(t, func(publicURL string) []oidc.Provider {
				provider = oidctest.Start(t, map[string]oidctest.Account{"carol": {Email: "carol@example.com", Verified: &yes, Name: "carol"}},
					map[string]string{"quarry": publicURL + "/auth/oidc/company/callback"})
				return []oidc.Provider{{Name: "company", Title: "Our Company", Issuer: provider.Issuer, ClientID: "quarry", ClientSecret: oidctest.ClientSecret}}
			})
			walkPages(t, map[string]any{
				"modules": modules, "browser": program, "base": w.server.URL, "setup": "/setup?token=" + w.accounts.SetupValue(),
				"probe": "/probe", "provider": "Our Company", "scripts": scripts, "shots": os.Getenv("QUARRY_WEB_SHOTS"),
			})
		})
	}
}

func walkPages(t *testing.T, o map[string]any) {
	t.Helper()
	argument, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "node", "testdata/browser.mjs", string(argument)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// requireKey simulates the API: it requires a key.
func (w *world) requireKey(rw http.ResponseWriter, r *http.Request) {
	if _, err := w.accounts.Authenticate(r); err != nil {
		rw.WriteHeader(http.StatusUnauthorized)
	}
}
