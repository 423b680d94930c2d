package operator

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// seen is a transport that records the credential of the last request.
type seen string

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	*s = seen(r.Header.Get("Authorization"))
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
}

func TestTokenGoesToThisMachineAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("qx_1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]seen{
		"http://127.0.0.1:7070/api":      "Bearer qx_1",
		"http://localhost:7070":          "Bearer qx_1",
		"http://[::1]:7070":              "Bearer qx_1",
		"http://0.0.0.0:7070":            "Bearer qx_1",
		"https://127.0.0.2":              "Bearer qx_1",
		"http://[::ffff:127.0.0.1]:7070": "Bearer qx_1",
		"http://localhost.example:7070":  "",
		"http://127.0.0.1.example:7070":  "",
		"http://10.0.0.1:7070":           "",
		"http://code.example":            "",
	} {
		var got seen
		client := &http.Client{Transport: &Transport{Dir: dir, Next: &got}}
		response, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestTransportKeepsWhatIsSet(t *testing.T) {
	var got seen
	r, _ := http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	r.Header.Set("Authorization", "Bearer qk_2")
	if _, err := (&Transport{Dir: t.TempDir(), Next: &got}).RoundTrip(r); err != nil || got != "Bearer qk_2" {
		t.Errorf("%q, %v, want \"Bearer qk_2\", nil", got, err)
	}
	if Token(filepath.Join(t.TempDir(), "none")) != "" {
		t.Error("a token of nothing")
	}
	if u, _ := url.Parse("http:///x"); Local(u) {
		t.Error("no host is local")
	}
}
