package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCP runs the scripts of testdata/mcp with the official client against a server that
// has indexed odd.fastimport and meadow.fastimport, with their branches release/*. The
// commands are
//
//	tools        the result of tools/list, with the schemas
//	call TOOL    the text of a call; the arguments are the input, as JSON
//
// <1> is the commit with mark 1 of meadow, <o1> that of odd; LONG is 100,000 letters. A
// result that is an error begins with ERROR.
func TestMCP(t *testing.T) {
	t.Parallel()
	s, commits := runMeadowServer(t)
	session := connectAgent(t, s.URL())
	datadriven.Walk(t, "testdata/mcp", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "tools" {
				return listedTools(t, session)
			}
			return calledTool(t, session, commits, d)
		})
	})
}

// runMeadowServer returns a server with two repositories, and their commits by mark.
func runMeadowServer(t testing.TB) (*Server, map[string]string) {
	t.Helper()
	odd, oddCommits := importRepository(t, "testdata/odd.fastimport")
	meadow, commits := importRepository(t, "testdata/meadow.fastimport")
	for mark, id := range oddCommits {
		commits["<o"+mark[1:]] = id
	}
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(odd)+","+filepath.Dir(meadow), "publicUrl=https://code.example",
		"pipeline.mergeInterval=0")) // scores follow from the documents of all segments, which a merge changes after some time
	for _, body := range []string{
		fmt.Sprintf(`{"path":%q,"name":"odd"}`, odd),
		fmt.Sprintf(`{"path":%q,"name":"github.com/meadow/kettle","codeHostType":"github","webUrl":"https://github.com/meadow/kettle","branches":["release/*"]}`, meadow),
	} {
		var r registration
		if status := postJSON(t, s.URL()+"/api/repos", body, &r); status != http.StatusAccepted {
			t.Fatalf("register: %d %s", status, r.Message)
		}
		awaitStatus(t, s, r.RepoID, r.isApplied)
	}
	return s, commits
}

// connectAgent returns a session of the official client.
func connectAgent(t testing.TB, url string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/api/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

// TestMCPOfALargeRepository covers cases that the scripts are too small for: branches on
// several pages, and files that are too large to be searched or read.
func TestMCPOfALargeRepository(t *testing.T) {
	t.Parallel()
	dir := gitTree(t, map[string]string{
		"skipped.txt": "needle\n" + strings.Repeat("all of it is text\n", 3<<20/18), "huge.txt": strings.Repeat("too much of it\n", 9<<20/15),
	})
	var newer strings.Builder
	for i := range 120 {
		fmt.Fprintf(&newer, "commit refs/heads/topic/%03d\ncommitter A <a@example.org> %d +0000\ndata 1\nx\nfrom refs/heads/main\n\n", i, 4_000_000_000+i)
	}
	runGit(t, strings.NewReader(newer.String()+"reset refs/heads/release/1\nfrom refs/heads/main\n\nreset refs/tags/v1.0\nfrom refs/heads/main\n\n"), "-C", dir, "fast-import", "--quiet")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir)))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"large","branches":["release/*"],"tags":["v*"]}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	session := connectAgent(t, s.URL())
	for _, c := range []struct{ tool, arguments, want string }{
		{"list_branches", `{"repo":"large"}`, "[large] 122 branches (2 indexed, 120 not, last at "},
		{"list_branches", `{"repo":"large","perPage":2}`, " indexed\n120 more: offset=2 goes on."},
		{"list_branches", `{"repo":"large","perPage":2,"page":2}`, "\ntopic/119 "},
		{"list_branches", `{"repo":"large","indexed":false,"query":"TOPIC/00","perPage":1}`, "[large] 10 branches (0 indexed, 10 not, "},
		{"list_branches", `{"repo":"large","tags":true}`, "[large] 1 tag (1 indexed, 0 not, "},
		{"list_branches", `{"repo":"large","tags":true,"query":"v2"}`, "No tag that is indexed matches."},
		{"read_file", `{"repo":"large","path":"skipped.txt","limit":1}`, "grep and the symbols do not find this file (too_large). The file is above the size limit"},
		{"read_file", `{"repo":"large","path":"huge.txt"}`, "huge.txt is a file that is too large to be read."},
		{"get_blame", `{"repo":"large","path":"huge.txt"}`, "huge.txt is a file that is too large to be read."},
		{"list_tree", `{"repo":"large","path":"huge.txt"}`, "huge.txt is a file that is too large to be read."},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.arguments)})
		if err != nil {
			t.Fatal(err)
		}
		if text := result.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %.600s\nwant %s", c.tool, c.arguments, text, c.want)
		}
	}
}

func listedTools(t *testing.T, session *mcp.ClientSession) string {
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, tool := range tools.Tools {
		schema, err := json.MarshalIndent(tool.InputSchema, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s\n%s\nreadOnly=%v idempotent=%v\n%s\n\n", tool.Name, tool.Title, tool.Description, tool.Annotations.ReadOnlyHint, tool.Annotations.IdempotentHint, schema)
	}
	return b.String()
}

func calledTool(t *testing.T, session *mcp.ClientSession, commits map[string]string, d *datadriven.TestData) string {
	t.Helper()
	in := strings.ReplaceAll(d.Input, "LONG", strings.Repeat("a", 100_000))
	for mark, id := range commits {
		in = strings.ReplaceAll(in, mark, id)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: d.CmdArgs[0].Key, Arguments: json.RawMessage(in)})
	if err != nil {
		return "PROTOCOL ERROR " + err.Error() + "\n"
	}
	if len(result.Content) != 1 || result.StructuredContent != nil {
		t.Errorf("%s: want one block of text, have %+v", d.Pos, result)
	}
	out := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		out = "ERROR " + out
	}
	for mark, id := range commits {
		out = strings.ReplaceAll(strings.ReplaceAll(out, id, mark), id[:12], mark)
	}
	return shortenOutput(out)
}

// shortenOutput removes the middle of long runs of x, and the time of indexing.
func shortenOutput(out string) string {
	out = strings.ReplaceAll(out, strings.Repeat("x", 1000), "x…")
	return regexp.MustCompile(`, last at [^)]*`).ReplaceAllString(out, ", last at now")
}

// postMessage posts a message to /api/mcp.
func postMessage(t testing.TB, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/api/mcp", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response, string(answer)
}

func initializeRequest(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, version)
}

// TestMCPRevisions speaks every revision of the protocol, the newest one without a
// handshake.
func TestMCPRevisions(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		response, answer := postMessage(t, s.URL(), initializeRequest(asked))
		if response.StatusCode != 200 || !strings.Contains(answer, `"protocolVersion":"`+want+`"`) || response.Header.Get("Mcp-Session-Id") == "" {
			t.Errorf("initialize %s: %d %v %s", asked, response.StatusCode, response.Header, answer)
		}
	}
	meta := `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	response, answer := postMessage(t, s.URL(), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":`+meta+`}}`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list")
	if response.StatusCode != 200 || !strings.Contains(answer, `"grep"`) {
		t.Errorf("tools/list of 2026-07-28: %d %.300s", response.StatusCode, answer)
	}
	if response, answer = postMessage(t, s.URL(), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":`+meta+`}}`, "Mcp-Protocol-Version", "2026-07-28"); response.StatusCode != 400 || !strings.Contains(answer, `"INVALID_REQUEST_BODY"`) {
		t.Errorf("without Mcp-Method: %d %.300s", response.StatusCode, answer)
	}
}

func TestMCPSessions(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	response, _ := postMessage(t, s.URL(), initializeRequest("2025-11-25"))
	id := response.Header.Get("Mcp-Session-Id")
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for _, session := range []string{id, ""} {
		if response, answer := postMessage(t, s.URL(), ping, "Mcp-Session-Id", session); response.StatusCode != 200 {
			t.Errorf("ping in session %q: %d %s", session, response.StatusCode, answer)
		}
	}
	for _, session := range []string{"x", id[:len(id)-2] + "AA", strings.Repeat("A", 200)} {
		if response, answer := postMessage(t, s.URL(), ping, "Mcp-Session-Id", session); response.StatusCode != 404 || !strings.Contains(answer, `"errorCode":"NOT_FOUND"`) {
			t.Errorf("ping in session %q: %d %s", session, response.StatusCode, answer)
		}
	}
	for _, want := range []int{204, 404} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.URL()+"/api/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Mcp-Session-Id", id)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("DELETE: %d, want %d", response.StatusCode, want)
		}
	}
	if response, _ := postMessage(t, s.URL(), ping, "Mcp-Session-Id", id); response.StatusCode != 404 {
		t.Errorf("ping in a session that has ended: %d, want 404", response.StatusCode)
	}
	response, err := http.Get(s.URL() + "/api/mcp")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if allow := response.Header.Get("Allow"); response.StatusCode != 405 || allow != "DELETE, POST" {
		t.Errorf("GET: %d, Allow %q", response.StatusCode, allow)
	}
}
