package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHooksInstallNamesTheScope registers webhooks with a token that the host accepts, but
// not for webhooks.
func TestHooksInstallNamesTheScope(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusForbidden: "; the token needs the scope write:repository, and write:organization for an organization",
		http.StatusNotFound:  "; if the target exists, the token needs the scope write:repository",
	} {
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(host.Close)
		settings := filepath.Join(t.TempDir(), "quarry.yaml")
		text := "publicUrl: http://quarry.example\ngit: {allowedNetworks: [127.0.0.0/8]}\nconnections:\n- {name: lab, kind: gitea, url: \"" + host.URL +
			"\", token: env:LAB_TOKEN, secrets: [env:LAB_SECRET], discover: {orgs: [tea]}}\n"
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("LAB_TOKEN", "token")
		t.Setenv("LAB_SECRET", strings.Repeat("0123456789abcdef", 2))
		for _, command := range []string{"install", "status", "remove"} {
			code, out, stderr := runQuarry(t.Context(), "hooks", command, "lab", "--config", settings)
			if code != exitFailed || !strings.Contains(out, want) || !strings.HasPrefix(out, "tea: ") {
				t.Errorf("status %d: hooks %s: exit code %d\n%s%s", status, command, code, out, stderr)
			}
		}
	}
}
