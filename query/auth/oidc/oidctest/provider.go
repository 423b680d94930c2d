package oidctest

import (
	"bufio"
	"context"
	_ "embed" // the script
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed provider.mjs
var script []byte

// Account is a user that the provider knows.
type Account struct {
	Email string `json:"email,omitempty"`
	// Verified is the claim about Email; nil omits it.
	Verified *bool  `json:"email_verified,omitempty"`
	Name     string `json:"name,omitempty"`
	// GitHubID is the claim github_id, the user's ID at a code host.
	GitHubID string `json:"github_id,omitempty"`
}

// ClientSecret is the secret of every client.
const ClientSecret = "a secret for tests"

// Provider is a running provider.
type Provider struct {
	Issuer string
	t      testing.TB
}

// Modules returns the directory of an npm package that tests use, or skips the test.
func Modules(t testing.TB, name string) string {
	t.Helper()
	modules := os.Getenv("QUARRY_NODE_MODULES")
	if modules == "" {
		modules = filepath.Join(moduleRoot(), ".cache", "node", "node_modules")
	}
	_, missing := os.Stat(filepath.Join(modules, name))
	if missing == nil {
		missing = nodeMissing()
	}
	switch {
	case missing == nil:
	case os.Getenv("QUARRY_REQUIRE_ALL") == "1":
		t.Fatalf("%s of npm is needed: %v; fetch it by make node", name, missing)
	default:
		t.Skipf("%s of npm is needed: %v; fetch it by make node", name, missing)
	}
	return modules
}

// minNode is the oldest major version of node that the packages run on.
const minNode = 20

func nodeMissing() error {
	said, err := exec.Command("node", "--version").Output()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(said), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < minNode {
		return fmt.Errorf("node is %s, want %d or newer", strings.TrimSpace(string(said)), minNode)
	}
	return nil
}

// moduleRoot returns the directory of go.mod, at or above the working directory.
func moduleRoot() string {
	directory, err := os.Getwd()
	for err == nil && directory != filepath.Dir(directory) {
		if _, err := os.Stat(filepath.Join(directory, "go.mod")); err == nil {
			return directory
		}
		directory = filepath.Dir(directory)
	}
	return "."
}

// Start runs a provider with accounts by subject, and clients by ID with their callback
// address. It ends with the test.
func Start(t testing.TB, accounts map[string]Account, clients map[string]string) *Provider {
	t.Helper()
	type client struct {
		ID       string   `json:"client_id"`
		Secret   string   `json:"client_secret"`
		Callback []string `json:"redirect_uris"`
	}
	var registered []client
	for id, callback := range clients {
		registered = append(registered, client{id, ClientSecret, []string{callback}})
	}
	argument, err := json.Marshal(map[string]any{"modules": Modules(t, "oidc-provider"), "accounts": accounts, "clients": registered})
	if err != nil {
		t.Fatal(err)
	}
	return runProvider(t, string(argument))
}

func runProvider(t testing.TB, argument string) *Provider {
	t.Helper()
	file := filepath.Join(t.TempDir(), "provider.mjs")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.Background(), "node", file, argument)
	var said strings.Builder
	command.Stderr = &said
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends the process
		_ = command.Wait()
	})
	p := &Provider{t: t}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, p)
	}
	if err != nil {
		_ = command.Process.Kill()
		t.Fatalf("start the provider: %v\n%s", err, &said)
	}
	return p
}

// SetClock sets how far the provider's clock is ahead of the real one.
func (p *Provider) SetClock(ahead time.Duration) {
	p.t.Helper()
	p.command(fmt.Sprintf("/test/clock?ahead=%d", int(ahead.Seconds())))
}

// DropClaim removes a claim of an account.
func (p *Provider) DropClaim(subject, claim string) {
	p.t.Helper()
	p.command("/test/drop-claim?" + url.Values{"account": {subject}, "claim": {claim}}.Encode())
}

// command sends a request that only this test provider supports.
func (p *Provider) command(path string) {
	p.t.Helper()
	answer, err := http.Get(p.Issuer + path)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = answer.Body.Close() // only the status matters
	if answer.StatusCode != http.StatusNoContent {
		p.t.Fatalf("%s: %s", path, answer.Status)
	}
}

// Visit does what a person does at the provider: it follows address, signs in as subject,
// or cancels if subject is empty, and returns the address that the provider redirects to.
func (p *Provider) Visit(address, subject string) *url.URL {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), p.Issuer) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	form := url.Values{"account": {subject}}
	if subject == "" {
		form = url.Values{"cancel": {"1"}}
	}
	question, err := browser.Get(address)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = question.Body.Close()
	answer, err := browser.PostForm(question.Request.URL.String(), form)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = answer.Body.Close()
	back, err := answer.Location()
	if err != nil {
		p.t.Fatalf("%s at %s: status %d leads nowhere: %v", subject, question.Request.URL, answer.StatusCode, err)
	}
	return back
}
