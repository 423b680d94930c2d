package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// linesOf returns the lines with a delivery ID in the logs of servers, by message.
func linesOf(t *testing.T, id string, servers ...*server) map[string]map[string]any {
	t.Helper()
	lines := map[string]map[string]any{}
	for _, s := range servers {
		for line := range strings.Lines(s.output.String()) {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) != nil || fields["delivery_id"] != id {
				continue
			}
			message := fmt.Sprint(fields["msg"])
			if lines[message] != nil {
				t.Errorf("%s has two lines: %s: %v and %v", id, message, lines[message], fields)
			}
			lines[message] = fields
		}
	}
	return lines
}

// followPush checks that the logs of servers contain a line for each step of a push, from
// its receipt, after the time began, until it is searchable.
func followPush(t *testing.T, id, commit string, began time.Time, servers ...*server) {
	t.Helper()
	steps := []string{"delivery accepted", "fetched", "revision indexed", "push is searchable"}
	var lines map[string]map[string]any
	pollUntil(func() bool {
		lines = linesOf(t, id, servers...)
		return len(lines) >= len(steps)
	})
	most := float64(time.Since(began).Milliseconds() + 1)
	for _, step := range steps {
		line := lines[step]
		if line == nil {
			t.Errorf("%s: no line %q; have %v", id, step, lines)
			continue
		}
		// A process with only the role ingest knows the name in the payload.
		if line["repository"] != "demo" && (step != steps[0] || len(servers) == 1) {
			t.Errorf("%s: repository is %v, want its name", step, line["repository"])
		}
		for _, key := range []string{"position", "repository_id"} {
			if first := lines[steps[0]][key]; line[key] == nil || fmt.Sprint(line[key]) != fmt.Sprint(first) {
				t.Errorf("%s: %s is %v, want %v", step, key, line[key], first)
			}
		}
		if ms, ok := line["duration_ms"].(float64); !ok || ms < 0 || ms > most {
			t.Errorf("%s: duration_ms is %v, want 0 to %v, the time since before the delivery", step, line["duration_ms"], most)
		}
		if step != steps[0] && line["commit"] != commit {
			t.Errorf("%s: commit is %v, want %s", step, line["commit"], commit)
		}
	}
}

// TestLogOfAPush checks that the log contains, under the delivery ID of the code host,
// every step of a push, and the reason why another delivery had no effect.
func TestLogOfAPush(t *testing.T) {
	t.Parallel()
	c := newCrashing(t)
	c.args = []string{"--set", "logging.format=json"}
	c.startServer()
	c.indexTree()
	c.awaitWord("vuvuzela")
	c.commitFile("second", "here is a cittern")
	at := commitOf(c.tree, "HEAD")
	accept := func(id string, p push, want int) {
		t.Helper()
		if status, answer, err := deliverPush(c.server.url, id, p); err != nil || status != want {
			t.Fatalf("%s: %d %s, %v", id, status, answer, err)
		}
	}
	began := time.Now()
	accept("msg_moved", push{Repository: c.tree, Ref: "refs/heads/main", After: at}, http.StatusAccepted)
	c.awaitWord("cittern")
	followPush(t, "msg_moved", at, began, c.server)

	accept("msg_moved", push{Repository: c.tree, Ref: "refs/heads/main", After: at}, http.StatusAccepted)
	accept("msg_again", push{Repository: c.tree, Ref: "refs/heads/main", After: at}, http.StatusAccepted)
	accept("msg_stranger", push{Repository: "stranger", Ref: "refs/heads/main"}, http.StatusNotFound)
	body := []byte(`{"repository":"demo"}`)
	forged := signedHeader("msg_forged", body)
	forged.Set("webhook-signature", "v1,"+strings.Repeat("A", 43)+"=")
	if status, _, err := sendRequest(http.MethodPost, c.server.url+hookPath, forged, body); err != nil || status != http.StatusUnauthorized {
		t.Fatalf("forged: %d, %v", status, err)
	}
	for id, want := range map[string]map[string]string{
		"msg_again":    {"push handled": "outcome=already_indexed", "delivery accepted": "outcome=pushed"},
		"msg_stranger": {"delivery not accepted": "result=unknown_repository"},
		"msg_forged":   {"delivery not accepted": "result=unauthenticated"},
	} {
		var lines map[string]map[string]any
		pollUntil(func() bool {
			lines = linesOf(t, id, c.server)
			return len(lines) == len(want)
		})
		for message, field := range want {
			key, value, _ := strings.Cut(field, "=")
			if line := lines[message]; line[key] != value {
				t.Errorf("%s: %q has %s %v, want %s; all: %v", id, message, key, line[key], value, lines)
			}
		}
		if line := lines["delivery not accepted"]; line != nil && !strings.HasPrefix(fmt.Sprint(line["address"]), "127.0.0.1:") {
			t.Errorf("%s: address is %v", id, line["address"])
		}
	}
	if !strings.Contains(c.server.output.String(), `"delivery repeated"`) {
		t.Error("no line says that a delivery came a second time")
	}

	removeRepository(t, c.server)
	var removed []string
	pollUntil(func() bool {
		removed = nil
		for line := range strings.Lines(c.server.output.String()) {
			if strings.Contains(line, `"repository removed"`) && strings.Contains(line, `"repository":"demo"`) {
				removed = append(removed, line)
			}
		}
		return len(removed) > 0
	})
	if len(removed) != 1 {
		t.Errorf("lines of the removal: %q, want one", removed)
	}
}

// removeRepository removes the only repository of a server.
func removeRepository(t *testing.T, s *server) {
	t.Helper()
	client := clientOf(strings.TrimPrefix(s.url, "http://"))
	response, err := client.Get(s.url + "/api/repos")
	if err != nil {
		t.Fatal(err)
	}
	var repositories []struct {
		ID int64 `json:"repoId"`
	}
	err = json.NewDecoder(response.Body).Decode(&repositories)
	_ = response.Body.Close()
	if err != nil || len(repositories) != 1 {
		t.Fatalf("repositories: %v, %v", repositories, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, fmt.Sprintf("%s/api/repos/%d", s.url, repositories[0].ID), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err = client.Do(request); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("remove: %s", response.Status)
	}
}
