package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/ingest/signature"
)

// hookSecret signs the deliveries of the tests. hookPath receives them.
const (
	hookSecret = "a secret of the end-to-end tests"
	hookPath   = "/webhooks/genericGitHost/local"
)

// hookSecretText is the secret in the form of the settings.
var hookSecretText = "whsec_" + base64.StdEncoding.EncodeToString([]byte(hookSecret))

// configText returns a configuration file with one signed connection and permission to
// read repositories below root. JSON is valid YAML.
func configText(root string) string {
	text, _ := json.Marshal(map[string]any{
		"git": map[string]any{"allowedRoots": []string{root}},
		"connections": []any{map[string]any{
			"name": "local", "kind": "genericGitHost",
			"secrets": []string{hookSecretText},
		}},
	})
	return string(text)
}

// push is a delivery of a generic git host.
type push struct {
	Repository string `json:"repository"`
	Ref        string `json:"ref"`
	Before     string `json:"before,omitempty"`
	After      string `json:"after,omitempty"`
}

// deliverPush sends a signed push and returns the status and the response.
func deliverPush(base, id string, p push) (int, string, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return 0, "", err
	}
	return sendRequest(http.MethodPost, base+hookPath, signedHeader(id, body), body)
}

// signedHeader returns the headers of a signed delivery.
func signedHeader(id string, body []byte) http.Header {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	signature.SetStandard(header, id, time.Now(), body, []byte(hookSecret))
	return header
}

// sendRequest sends a request and returns the status and the response.
func sendRequest(method, url string, header http.Header, body []byte) (int, string, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header = header
	response, err := clientOf(request.URL.Host).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), err
}

// countMatches returns the number of matches that the server counts.
func countMatches(base, query string) (int, error) {
	body, err := json.Marshal(map[string]any{"query": query, "matches": 10_000})
	if err != nil {
		return 0, err
	}
	status, answer, err := sendRequest(http.MethodPost, base+"/api/search", http.Header{"Content-Type": {"application/json"}}, body)
	if err != nil {
		return 0, err
	}
	if status != http.StatusOK {
		return 0, fmt.Errorf("search %q: %d: %s", query, status, answer)
	}
	var found struct {
		Stats struct {
			ActualMatchCount int `json:"actualMatchCount"`
		} `json:"stats"`
	}
	err = json.Unmarshal([]byte(answer), &found)
	return found.Stats.ActualMatchCount, err
}
