package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// requestStatus returns the status and body of a request. credential may be empty.
func requestStatus(t *testing.T, method, url, credential string) (int, string) {
	t.Helper()
	response, err := sendWithCredential(t, method, url, credential)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestLoopbackAccess checks that on loopback any caller may read public data but change
// nothing, and that the operator may do everything.
func TestLoopbackAccess(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	waitUntil(t, func() bool { status, _ := getURL(t, s.URL()+"/readyz"); return status == http.StatusOK })
	token := operator.Token(s.o.Config.Data)
	for _, c := range []struct {
		method, path   string
		nobody, theirs int
	}{
		{"GET", "/api/repos", 200, 200},
		{"GET", "/api/version", 200, 200},
		{"GET", "/readyz", 200, 200},
		{"GET", "/api/source?repo=none&path=x", 404, 404},
		{"POST", "/api/repos", 401, 400},
		{"DELETE", "/api/repos/1", 401, 404},
		{"GET", "/api/deadletters", 401, 200},
		{"GET", "/api/ee/users", 401, 200},
		{"GET", "/admin/events", 401, 200},
		{"GET", "/metrics", 404, 404},
	} {
		if status, body := requestStatus(t, c.method, s.URL()+c.path, ""); status != c.nobody {
			t.Errorf("anonymous %s %s: %d %.200s, want %d", c.method, c.path, status, body, c.nobody)
		}
		if status, body := requestStatus(t, c.method, s.URL()+c.path, token); status != c.theirs {
			t.Errorf("%s %s of the operator: %d %.200s, want %d", c.method, c.path, status, body, c.theirs)
		}
	}
}

// TestAnonymousRequestsAreRefused checks that a server without anonymous access serves
// only the probes and its description of itself to callers without a credential.
func TestAnonymousRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "access.anonymous=off"))
	for path, want := range map[string]int{"/api/repos": 401, "/api/source?repo=a&path=b": 401, "/healthz": 200, "/api/version": 200, "/api/none": 404} {
		if status, body := requestStatus(t, "GET", s.URL()+path, ""); status != want {
			t.Errorf("%s: %d %.200s", path, status, body)
		}
	}
}

// guardedOperations returns the method and path of the operations that need a credential.
func guardedOperations(t *testing.T) (out [][2]string) {
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range document.Paths {
		for _, m := range path.Value.Methods() {
			if m.Operation.Access != openapi.AccessOpen {
				out = append(out, [2]string{m.Name, strings.NewReplacer("{", "", "}", "").Replace(path.Name)})
			}
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %d operations", len(out))
	}
	return out
}

// TestInvalidCredentialsAreRefused checks that every route that checks credentials
// refuses an invalid one, even where anonymous requests are allowed.
func TestInvalidCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "limits.anonymousPerSecond=0"))
	token := operator.Token(s.o.Config.Data)
	guarded := guardedOperations(t)
	for name, credential := range map[string]string{
		"truncated": token[:len(token)-1], "longer": token + "0", "of another": account.PrefixOperator + strings.Repeat("0", 64),
		"a key nobody has": account.PrefixKey + strings.Repeat("0", 64), "a session as a key": account.PrefixSession + strings.Repeat("a", 64),
		"upper case": strings.ToUpper(token), "words": "not a credential", "a long one": strings.Repeat("q", 100_000),
	} {
		for _, o := range guarded {
			status, body := requestStatus(t, o[0], s.URL()+o[1], credential)
			if status != http.StatusUnauthorized || !strings.Contains(body, "NOT_AUTHENTICATED") || strings.Contains(body, credential) {
				t.Errorf("%s: %v: %d %.200s", name, o, status, body)
			}
		}
	}
	for size, want := range map[int]int{1 << 20: http.StatusUnauthorized, 2 << 20: http.StatusRequestHeaderFieldsTooLarge} {
		if status, body := requestStatus(t, "GET", s.URL()+"/api/repos", strings.Repeat("q", size)); status != want {
			t.Errorf("a credential of %d bytes: %d %.100s, want %d", size, status, body, want)
		}
	}
}
