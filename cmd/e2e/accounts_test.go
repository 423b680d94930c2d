package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// accountKills is how often the server is killed while keys are created and deleted.
const accountKills = 5

// sendJSON sends a request with a key, or as the operator if the key is empty. It returns
// the status and, if the response is a JSON object, its members.
func (s *server) sendJSON(t *testing.T, key, method, path string, body any) (int, map[string]any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(strings.TrimPrefix(s.url, "http://"))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	} else {
		request.Body, request.ContentLength = http.NoBody, 0
	}
	if key != "" {
		client = http.DefaultClient
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var out map[string]any
	_ = json.NewDecoder(response.Body).Decode(&out) // the response may be a list or empty
	return response.StatusCode, out
}

// createOwner creates the first owner with the link that the server has written, and
// returns the owner's ID.
func (s *server) createOwner(t *testing.T) string {
	t.Helper()
	var value string
	pollUntil(func() bool {
		_, value, _ = strings.Cut(operator.SetupLink(s.data), "/setup?token=")
		return value != ""
	})
	status, out := s.sendJSON(t, "", http.MethodPost, "/api/auth/setup", map[string]string{
		"value": value, "email": "ada@example.com", "name": "Ada", "password": "a long enough password",
	})
	user, _ := out["user"].(map[string]any)
	id, _ := user["id"].(string)
	if status != http.StatusCreated || id == "" {
		t.Fatalf("setup: %d %v\n%s", status, out, s.output)
	}
	return id
}

// createKey creates an API key of a user and returns its ID and value.
func (s *server) createKey(t *testing.T, user, name string) (id, value string) {
	t.Helper()
	status, out := s.sendJSON(t, "", http.MethodPost, "/api/keys", map[string]any{"userId": user, "name": name, "scopes": []string{"search"}})
	id, _ = out["id"].(string)
	value, _ = out["key"].(string)
	if status != http.StatusCreated || value == "" {
		t.Fatalf("create key %s: %d %v", name, status, out)
	}
	return id, value
}

// statusWithKey returns the status of a read request with a key.
func (s *server) statusWithKey(t *testing.T, key string) int {
	t.Helper()
	status, _ := s.sendJSON(t, key, http.MethodGet, "/api/repos", nil)
	return status
}

// TestAccountsSurviveKill kills the server as soon as it has confirmed that one key is
// created and another is deleted. Both must hold after the restart, whatever the account
// rows on the disk contained.
func TestAccountsSurviveKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, data := filepath.Join(dir, "quarry.yaml"), filepath.Join(dir, "data")
	writeTextFile(t, config, configText(dir))
	begin := func() *server {
		s, err := startServer(dir, os.Environ(), "--config", config, "--data", data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := begin()
	defer func() { s.killProcess() }()
	user := s.createOwner(t)
	lastID, last := s.createKey(t, user, "key 0")
	var deleted []string
	for i := range accountKills {
		id, value := s.createKey(t, user, fmt.Sprint("key ", i+1))
		if status, out := s.sendJSON(t, "", http.MethodDelete, "/api/keys/"+lastID, nil); status/100 != 2 {
			t.Fatalf("delete key: %d %v", status, out)
		}
		s.killProcess()
		deleted = append(deleted, last)
		lastID, last = id, value
		s = begin()
		if strings.Contains(s.output.String(), "no owner yet") {
			t.Error("the owner is gone")
		}
		if status := s.statusWithKey(t, last); status != http.StatusOK {
			t.Errorf("round %d: a key that was created: %d", i, status)
		}
		for n, value := range deleted {
			if status := s.statusWithKey(t, value); status != http.StatusUnauthorized {
				t.Errorf("round %d: deleted key %d: %d", i, n, status)
			}
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	// The rows can be rebuilt from the log alone.
	if err := os.RemoveAll(filepath.Join(data, "accounts")); err != nil {
		t.Fatal(err)
	}
	s = begin()
	if status, of := s.statusWithKey(t, last), s.statusWithKey(t, deleted[0]); status != http.StatusOK || of != http.StatusUnauthorized {
		t.Errorf("after the rows were read again: %d and %d", status, of)
	}
}

// keysOfTwoProcesses runs two query processes on one broker. Keys that one of them
// creates or deletes are known to the other.
func keysOfTwoProcesses(t *testing.T, broker *kafkatest.Broker) {
	dir := t.TempDir()
	config := filepath.Join(dir, "quarry.yaml")
	writeTextFile(t, config, kafkaConfiguration(dir, map[string]any{"brokers": broker.Addresses}))
	var servers []*server
	for _, name := range []string{"one", "two"} {
		s, err := startServer(dir, os.Environ(), "--config", config, "--data", filepath.Join(dir, name), "--role", "query",
			"--set", "storage.segments="+filepath.Join(dir, "segments"), "--set", "access.secret="+strings.Repeat("s3cr3t", 8))
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
		t.Cleanup(func() {
			if err := s.stop(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	user := servers[0].createOwner(t)
	for i := range 5 {
		here, there := servers[i%2], servers[(i+1)%2]
		id, value := here.createKey(t, user, fmt.Sprint("key ", i))
		if status := here.statusWithKey(t, value); status != http.StatusOK {
			t.Errorf("a new key at the process that made it: %d", status)
		}
		began := time.Now()
		if !pollUntil(func() bool { return there.statusWithKey(t, value) == http.StatusOK }) {
			t.Fatal("the other process does not get to know a new key")
		}
		known := time.Since(began)
		if status, _ := here.sendJSON(t, "", http.MethodDelete, "/api/keys/"+id, nil); status/100 != 2 {
			t.Fatalf("delete key: %d", status)
		}
		if status := here.statusWithKey(t, value); status != http.StatusUnauthorized {
			t.Errorf("a deleted key at the process that deleted it: %d", status)
		}
		began = time.Now()
		if !pollUntil(func() bool { return there.statusWithKey(t, value) == http.StatusUnauthorized }) {
			t.Fatal("the other process takes a deleted key")
		}
		t.Logf("the other process knew the new key after %v and refused the deleted one after %v", known.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
	if !testing.Short() {
		keysWithoutBroker(t, broker, servers, user)
	}
}

// keysWithoutBroker kills the broker: callers with a key are still authorized, and no
// change is accepted.
func keysWithoutBroker(t *testing.T, broker *kafkatest.Broker, servers []*server, user string) {
	_, value := servers[0].createKey(t, user, "lasting")
	if !pollUntil(func() bool { return servers[1].statusWithKey(t, value) == http.StatusOK }) {
		t.Fatal("the other process does not get to know a new key")
	}
	broker.Kill()
	for _, s := range servers {
		if status := s.statusWithKey(t, value); status != http.StatusOK {
			t.Errorf("a key while the broker is away: %d", status)
		}
	}
	body := map[string]any{"userId": user, "name": "meanwhile", "scopes": []string{"search"}}
	if status, out := servers[0].sendJSON(t, "", http.MethodPost, "/api/keys", body); status != http.StatusServiceUnavailable {
		t.Errorf("a new key while the broker is away: %d %v", status, out)
	}
	broker.Restart()
	body["name"] = "afterwards"
	if !pollUntil(func() bool {
		status, _ := servers[1].sendJSON(t, "", http.MethodPost, "/api/keys", body)
		return status == http.StatusCreated || status == http.StatusConflict // an earlier attempt may have succeeded
	}) {
		t.Error("no new key after the broker is back")
	}
	for _, s := range servers {
		if status := s.statusWithKey(t, value); status != http.StatusOK {
			t.Errorf("a key after the broker is back: %d", status)
		}
	}
}
