package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// The description names this server, and is sent once.
func TestDescriptionIsOfThisServer(t *testing.T) {
	s := newServer(t, newWorld().options())
	get := func(tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/api/openapi.json", nil)
		r.Header.Set("If-None-Match", tag)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec
	}
	rec := get("")
	var d openapi.Document
	if err := json.Unmarshal(rec.Body.Bytes(), &d); err != nil || len(d.Servers) != 1 || d.Servers[0].URL != "https://code.example" {
		t.Errorf("servers %v, %v", d.Servers, err)
	}
	tag := rec.Header().Get("ETag")
	for _, given := range []string{tag, "W/" + tag, `"x", ` + tag} {
		if rec := get(given); rec.Code != http.StatusNotModified || rec.Body.Len() != 0 || rec.Header().Get("ETag") != tag {
			t.Errorf("%s: %d, %d bytes", given, rec.Code, rec.Body.Len())
		}
	}
}
