package github

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestApp lists the repositories of an installation with a token that GitHub issues for
// an assertion signed with the app's key.
func TestApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	installations, tokens, ends := []any{map[string]any{"id": 42}}, 0, time.Now().Add(time.Hour)
	signed := func(w http.ResponseWriter, r *http.Request) bool {
		parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
		var claims struct {
			Issuer string `json:"iss"`
			Ends   int64  `json:"exp"`
		}
		sum, good := [32]byte{}, len(parts) == 3
		if good {
			sum = sha256.Sum256([]byte(parts[0] + "." + parts[1]))
			signature, err := base64.RawURLEncoding.DecodeString(parts[2])
			body, err2 := base64.RawURLEncoding.DecodeString(parts[1])
			good = err == nil && err2 == nil && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) == nil &&
				json.Unmarshal(body, &claims) == nil && claims.Issuer == "7" && time.Until(time.Unix(claims.Ends, 0)) < 10*time.Minute
		}
		if !good {
			hosttest.WriteJSON(w, http.StatusUnauthorized, map[string]string{"message": "A JSON web token could not be decoded"})
		}
		return good
	}
	server := hosttest.NewServer(t, false, func(base string) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /api/v3/app/installations", func(w http.ResponseWriter, r *http.Request) {
			if signed(w, r) {
				hosttest.WriteJSON(w, http.StatusOK, installations)
			}
		})
		mux.HandleFunc("POST /api/v3/app/installations/42/access_tokens", func(w http.ResponseWriter, r *http.Request) {
			if signed(w, r) {
				tokens++
				hosttest.WriteJSON(w, http.StatusCreated, map[string]any{"token": "ghs_installation", "expires_at": ends.UTC().Format(time.RFC3339)})
			}
		})
		mux.HandleFunc("GET /api/v3/installation/repositories", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer ghs_installation" {
				hosttest.WriteJSON(w, http.StatusUnauthorized, map[string]string{"message": "Bad credentials"})
				return
			}
			hosttest.WriteJSON(w, http.StatusOK, map[string]any{"total_count": 1, "repositories": []any{describe(base, hosttest.Repos("acme", 1)[0])}})
		})
		return mux
	})
	c := discovery.Connection{Name: "c", Kind: code.GitHub, URL: server.URL, App: discovery.App{ID: 7, PrivateKey: text}, Targets: discovery.Targets{All: true}}
	client := hostapi.NewTransport(hostapi.Options{}).Client()
	for _, step := range []struct {
		name string
		ends time.Duration
	}{{"one that ends soon is renewed", time.Minute}, {"another one is kept", time.Hour}} {
		ends = time.Now().Add(step.ends)
		lister, err := Open(c, client)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			found, issues, complete, err := discovery.ListWith(t.Context(), lister, c, discovery.DefaultMaxRepositories)
			if err != nil || !complete || len(found) != 1 {
				t.Fatalf("%s: found %v, issues %v, error %v", step.name, found, issues, err)
			}
		}
	}
	if tokens != 3 { // two for tokens that expire soon, one for a token that does not
		t.Errorf("%d tokens were made, want 3", tokens)
	}

	for _, bad := range []struct {
		name, key string
		all       []any
		want      string
	}{
		{"another key", newKey(t), installations, "unauthorized"},
		{"two installations", text, []any{map[string]any{"id": 1}, map[string]any{"id": 2}}, "app.installation"},
	} {
		installations = bad.all
		c.App.PrivateKey = bad.key
		got := hosttest.ListAll(t, Open, c, client)
		if got.Complete || len(got.Issues) != 1 || !strings.Contains(string(got.Issues[0].Code)+got.Issues[0].Detail, bad.want) {
			t.Errorf("%s: complete %v, issues %v", bad.name, got.Complete, got.Issues)
		}
	}
	c.App.PrivateKey = "hunter2"
	if _, err := Open(c, client); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a key that is none: %v", err)
	}
}

func newKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}
