package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

// leaks holds the secrets of a server and searches the places where they must not appear.
type leaks struct {
	t       *testing.T
	s       *server
	secrets map[string]string // name to value
}

// sendRequest sends a request with a credential, searches the response for leaks, and
// keeps the values of cookies as secrets.
func (l *leaks) sendRequest(name, method, path string, header http.Header, body any) map[string]any {
	l.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(l.t.Context(), method, l.s.url+path, bytes.NewReader(text))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header = header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	for _, cookie := range response.Cookies() {
		if cookie.Value != "" {
			l.secrets[name+": cookie "+cookie.Name] = cookie.Value
		}
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]any{}
	_ = json.Unmarshal(answer, &out) // pages are not JSON objects
	out["status"] = response.StatusCode
	return out
}

// keepSecret records a secret in a response.
func (l *leaks) keepSecret(name string, answer map[string]any, field string) string {
	l.t.Helper()
	value, _ := answer[field].(string)
	if len(value) < 16 {
		l.t.Fatalf("%s: %v", name, answer)
	}
	l.secrets[name] = value
	return value
}

// reportLeaks reports the secrets that occur in a text.
func (l *leaks) reportLeaks(where string, text []byte) {
	l.t.Helper()
	for name, secret := range l.secrets {
		for form, value := range map[string]string{
			"": secret, " in hexadecimal": fmt.Sprintf("%x", secret), " in base64": strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="),
		} {
			if bytes.Contains(text, []byte(value)) {
				l.t.Errorf("%s%s is in %s", name, form, where)
			}
		}
	}
}

// TestSecretsAreNowhere gives a server every kind of secret, at the most verbose log
// level, and searches everything that the server prints, writes and starts for them.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newCrashing(t)
	c.data = filepath.Join(dir, "data")
	hook := "whsec_" + base64.StdEncoding.EncodeToString([]byte(hookSecret))
	l := &leaks{t: t, secrets: map[string]string{
		"access.secret": strings.Repeat("0123456789abcdef", 4), "the hook secret": hook, "the key in the hook secret": hookSecret,
		"the secret in place": "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret that stands in the file of settings")),
		"the metrics token":   "a token of Prometheus alone",
		"the client secret":   "a client secret of a provider", "the password": "a password that is hard to guess", "the other password": "the password of somebody else",
	}}
	children, environ := recordGit(t, dir), os.Environ()
	environ = append(environ, "PATH="+children+string(os.PathListSeparator)+os.Getenv("PATH"),
		"E2E_HOOK="+hook, "E2E_CLIENT="+l.secrets["the client secret"], "E2E_METRICS="+l.secrets["the metrics token"])
	secretFile := filepath.Join(dir, "secret")
	writeTextFile(t, secretFile, l.secrets["access.secret"])
	settings, err := json.Marshal(map[string]any{
		"git":     map[string]any{"allowedRoots": []string{c.dir}},
		"logging": map[string]any{"level": "debug"}, "metricsToken": "env:E2E_METRICS",
		"access": map[string]any{"secret": "file:" + secretFile, "oidc": []any{map[string]any{
			"name": "company", "issuer": "http://127.0.0.1:1", "clientId": "quarry", "clientSecret": "env:E2E_CLIENT"}}},
		"connections": []any{
			map[string]any{"name": "local", "kind": "genericGitHost", "secrets": []string{"env:E2E_HOOK"}, "allowToken": true},
			map[string]any{"name": "other", "kind": "genericGitHost", "secrets": []string{l.secrets["the secret in place"]}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeTextFile(t, c.config, string(settings))
	if l.s, err = startServer(dir, environ, "--config", c.config, "--data", c.data); err != nil {
		t.Fatal(err)
	}
	c.server = l.s
	l.sendCredentials(c)
	l.searchOutputs(c, environ, filepath.Join(children, "said"))
}

// recordGit returns a directory with a git that records its arguments and environment in
// the file said and then runs the real git.
func recordGit(t *testing.T, dir string) string {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n{ echo \"$@\"; env; } >> '%s/said'\nexec '%s' \"$@\"\n", bin, program)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return bin
}

// sendCredentials sends every kind of credential, valid and invalid, both where it
// belongs and where it does not.
func (l *leaks) sendCredentials(c *crashing) {
	token := operator.Token(c.data)
	l.secrets["the operator's token"] = token
	asOperator := http.Header{"Authorization": {"Bearer " + token}}
	pollUntil(func() bool { return operator.SetupLink(c.data) != "" })
	_, setup, _ := strings.Cut(operator.SetupLink(c.data), "?token=")
	l.keepSecret("the setup value", map[string]any{"value": setup}, "value")
	l.sendRequest("the setup page", http.MethodGet, "/setup?token="+setup, nil, nil)
	owner := l.sendRequest("set-up", http.MethodPost, "/api/auth/setup", nil, map[string]string{
		"value": setup, "email": "ada@example.com", "name": "Ada", "password": l.secrets["the password"]})
	user, _ := owner["user"].(map[string]any)
	l.sendRequest("a wrong sign-in", http.MethodPost, "/api/auth/sign_in", nil, map[string]string{"email": "ada@example.com", "password": l.secrets["the other password"]})
	l.sendRequest("a sign-in", http.MethodPost, "/api/auth/sign_in", nil, map[string]string{"email": "ada@example.com", "password": l.secrets["the password"]})
	cookie := http.Header{"Cookie": {"quarry_session=" + l.secrets["a sign-in: cookie quarry_session"]}}
	l.sendRequest("a page", http.MethodGet, "/settings/keys", cookie, nil)

	key := l.keepSecret("a key", l.sendRequest("create key", http.MethodPost, "/api/keys", asOperator, map[string]any{"userId": user["id"], "name": "k", "scopes": []string{"search", "git", "admin"}}), "key")
	byKey := http.Header{"Authorization": {"Bearer " + key}}
	c.indexTree()
	scoped := l.keepSecret("a scoped token", l.sendRequest("mint token", http.MethodPost, "/api/ee/scoped_access_token", byKey, map[string]any{"repoIds": l.listRepositories(byKey)}), "token")
	for _, h := range []http.Header{byKey, {"X-Sourcebot-Api-Key": {key}}, {"Authorization": {"Bearer " + scoped}}, {"Authorization": {"Bearer " + key + "x"}}, {"Authorization": {"Basic " + key}}} {
		l.sendRequest("a search", http.MethodPost, "/api/search", h, map[string]any{"query": "vuvuzela", "matches": 1})
		l.sendRequest("a key in an address", http.MethodGet, "/api/repos?apiKey="+key+"&token="+scoped, h, nil)
		l.sendRequest("events", http.MethodGet, "/admin/events", h, nil)
	}
	invitation := l.sendRequest("invite", http.MethodPost, "/api/invitations", asOperator, map[string]any{"email": "grace@example.com", "role": "MEMBER"})
	link, _ := invitation["value"].(string)
	if link == "" {
		link, _ = invitation["link"].(string)
		_, link, _ = strings.Cut(link, "token=")
	}
	l.keepSecret("an invitation", map[string]any{"value": link}, "value")
	l.sendRequest("the page of an invitation", http.MethodGet, "/invite?token="+url.QueryEscape(link), nil, nil)
	l.sendRequest("accept", http.MethodPost, "/api/invitations/accept", nil, map[string]string{"value": link, "name": "Grace", "password": l.secrets["the other password"]})
	l.sendRequest("single sign-on", http.MethodGet, "/auth/oidc/company", nil, nil)
	l.sendRequest("the way back", http.MethodGet, "/auth/oidc/company/callback?code="+l.secrets["the password"]+"&state=x", nil, nil)

	body := push{Repository: c.tree, Ref: "refs/heads/main", After: commitOf(c.tree, "HEAD")}
	text, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	if answer := l.sendRequest("a delivery", http.MethodPost, hookPath, signedHeader("msg_1", text), body); answer["status"] != http.StatusAccepted {
		l.t.Fatalf("a delivery: %v", answer)
	}
	bearer := http.Header{"Authorization": {"Bearer " + l.secrets["the hook secret"]}, "Webhook-Id": {"msg_2"}}
	l.sendRequest("a delivery by token", http.MethodPost, hookPath, bearer, body)
	l.sendRequest("a delivery of another connection", http.MethodPost, "/webhooks/genericGitHost/other", bearer, body)
	l.sendRequest("a delivery without a signature", http.MethodPost, hookPath, nil, body)
}

// listRepositories returns the IDs of all repositories.
func (l *leaks) listRepositories(header http.Header) []any {
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.s.url+"/api/repos", http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var all []struct {
		RepoID any `json:"repoId"`
	}
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil || len(all) == 0 {
		l.t.Fatalf("repositories: %d %v", response.StatusCode, err)
	}
	return []any{all[0].RepoID}
}

// searchOutputs searches the output of the running server, and the files that it leaves
// after it has stopped, for the secrets.
func (l *leaks) searchOutputs(c *crashing, environ []string, children string) {
	run := func(args ...string) {
		command := exec.Command("quarry", args...)
		command.Env = environ
		out, err := command.CombinedOutput()
		if err != nil || len(out) == 0 {
			l.t.Errorf("quarry %s: %v\n%s", args, err, out)
		}
		l.reportLeaks("quarry "+strings.Join(args[:2], " "), out)
	}
	of := []string{"--server", l.s.url, "--data", c.data}
	run(append([]string{"events", "tail"}, of...)...)
	run(append([]string{"audit", "export"}, of...)...)
	run(append([]string{"users", "list"}, of...)...)
	run(append([]string{"keys", "list"}, of...)...)
	run(append([]string{"deliveries", "list"}, of...)...)
	run("serve", "--config", c.config, "--data", c.data, "--print-config")
	for credential, want := range map[string]int{"": http.StatusUnauthorized, "Bearer " + l.secrets["the metrics token"]: http.StatusOK} {
		status, metrics, err := sendRequest(http.MethodGet, l.s.metricsURL+"/metrics", http.Header{"Authorization": {credential}}, nil)
		if err != nil || status != want {
			l.t.Errorf("metrics with the credential %q: %d, %v; want %d", credential, status, err, want)
		}
		l.reportLeaks("the metrics", []byte(metrics))
	}
	if arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", l.s.cmd.Process.Pid)); err == nil {
		l.reportLeaks("the arguments of the process", arguments)
	}
	said, err := os.ReadFile(children)
	if err != nil || !bytes.Contains(said, []byte("GIT_CONFIG_GLOBAL")) {
		l.t.Errorf("what git was started with: %v", err)
	}
	l.reportLeaks("arguments or environment of git", said)
	if err := l.s.stop(); err != nil {
		l.t.Error(err)
	}
	if log := l.s.output.String(); strings.Count(log, "level=DEBUG") < 20 {
		l.t.Errorf("a log that says little:\n%s", log)
	}
	l.reportLeaks("the log", []byte(l.s.output.String()))
	err = filepath.WalkDir(c.data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path == filepath.Join(c.data, operator.FileName) {
			return err
		}
		b, err := os.ReadFile(path)
		l.reportLeaks(path, b)
		return err
	})
	if err != nil {
		l.t.Error(err)
	}
}
