package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// inspector is the command line of the official client.
const inspector = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// agentServer returns a server with one repository, and a function that restarts it.
func agentServer(t *testing.T) (s *server, restart func()) {
	t.Helper()
	dir := t.TempDir()
	config, data, tree := filepath.Join(dir, "quarry.yaml"), filepath.Join(dir, "data"), filepath.Join(dir, "demo")
	for _, err := range []error{
		os.WriteFile(config, []byte(configText(dir)), 0o600),
		runGit("", "init", "-q", "-b", "main", tree),
		os.WriteFile(filepath.Join(tree, "kazoo.go"), []byte("package kazoo\n\n// Hum hums.\nfunc Hum() {}\n"), 0o600),
		runGit(tree, "add", "-A"), runGit(tree, "commit", "-q", "-m", "hum"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	address, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	start := func() {
		if s, err = startServerAt(address, dir, os.Environ(), "--config", config, "--data", data); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.killProcess)
	}
	restart = func() {
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
		start()
	}
	start()
	runProgram(t, "quarry", "index", "--server", s.url, "--data", data, "--name", "demo", tree)
	return s, restart
}

// runProgram runs a program and returns its output.
func runProgram(t *testing.T, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", program, args, err, out, said.String())
	}
	return string(out)
}

// checkTools lists the tools and calls one.
func checkTools(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 15 {
		t.Fatalf("tools/list: %+v, %v", tools, err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "find_symbol_definitions", Arguments: map[string]any{"symbol": "Hum", "repo": "demo"}})
	if err != nil || result.IsError {
		t.Fatalf("tools/call: %+v, %v", result, err)
	}
	if text := result.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, "[demo]\nkazoo.go:\n4: func Hum() {}\n") {
		t.Errorf("find_symbol_definitions: %s", text)
	}
}

func connectClient(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the process that it started may have ended
	return session
}

// TestAgents uses the client of the official library, over HTTP and over pipes.
func TestAgents(t *testing.T) {
	t.Parallel()
	s, restart := agentServer(t)
	t.Run("http", func(t *testing.T) {
		checkTools(t, connectClient(t, &mcp.StreamableClientTransport{Endpoint: s.url + "/api/mcp", HTTPClient: clientOf(strings.TrimPrefix(s.url, "http://"))}))
	})
	t.Run("no credential that is any good", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer qk_nonsense")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%d, WWW-Authenticate %q", response.StatusCode, response.Header.Get("WWW-Authenticate"))
		}
	})
	t.Run("pipes, and a server that restarts", func(t *testing.T) {
		session := connectClient(t, &mcp.CommandTransport{Command: exec.Command("quarry", "mcp", "--server", s.url, "--data", s.data)})
		checkTools(t, session)
		restart()
		checkTools(t, session)
	})
}

// TestInspector checks the tools with the command line of the official inspector, over
// HTTP and over pipes, with a key that may only search and as the operator.
func TestInspector(t *testing.T) {
	t.Parallel()
	program := filepath.Join(nodeModules(t, inspector), inspector)
	s, _ := agentServer(t)
	_, key := s.createKey(t, s.createOwner(t), "agent")
	for name, c := range map[string]struct {
		connection, program []string
		tools               int
	}{
		"http":            {[]string{s.url + "/api/mcp", "--transport", "http", "--header", "Authorization: Bearer " + key}, nil, 8},
		"pipes, operator": {nil, []string{"--", "quarry", "mcp", "--server", s.url, "--data", s.data}, 15},
		"pipes, key":      {nil, []string{"--", "quarry", "mcp", "--server", s.url, "--api-key", key}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			inspect := func(args ...string) string {
				return runProgram(t, "node", slices.Concat([]string{program, "--cli"}, c.connection, args, c.program)...)
			}
			var listed struct {
				Tools []struct{ Name string } `json:"tools"`
			}
			if err := json.Unmarshal([]byte(inspect("--method", "tools/list", "--strict")), &listed); err != nil || len(listed.Tools) != c.tools {
				t.Errorf("tools/list: %+v, %v", listed, err)
			}
			out := inspect("--method", "tools/call", "--tool-name", "grep", "--tool-arg", "pattern=Hum[a-z]* hums", "limit=3")
			if !strings.Contains(out, "Found 1 match in 1 file.") || !strings.Contains(out, "3: // Hum hums.") {
				t.Errorf("tools/call: %s", out)
			}
		})
	}
}

// nodeModules returns the directory of the npm packages that tests use. It skips the test
// if program is missing.
func nodeModules(t *testing.T, program string) string {
	t.Helper()
	modules := os.Getenv("QUARRY_NODE_MODULES")
	if modules == "" {
		modules, _ = filepath.Abs("../../.cache/node/node_modules")
	}
	_, missing := os.Stat(filepath.Join(modules, program))
	if missing == nil {
		_, missing = exec.LookPath("node")
	}
	switch {
	case missing == nil:
	case os.Getenv("QUARRY_REQUIRE_ALL") == "1":
		t.Fatalf("%s of npm is needed: %v; fetch it by make node", program, missing)
	default:
		t.Skipf("%s of npm is needed: %v; fetch it by make node", program, missing)
	}
	return modules
}
