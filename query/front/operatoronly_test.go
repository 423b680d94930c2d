package front_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/quarrysearch/quarry/query/front"
)

// TestOperatorOnly checks that a process without accounts shows its events to its
// operator alone.
func TestOperatorOnly(t *testing.T) {
	h := front.OperatorOnly("qx_1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for credential, want := range map[string]int{"": 401, "Bearer ": 401, "Bearer qx_2": 401, "qx_1": 401, "bearer qx_1": 401, "Bearer qx_12": 401, "Bearer qx_1": 204, "Bearer qx_1 ": 401} {
		r := httptest.NewRequest(http.MethodGet, "/admin/events", nil)
		if credential != "" {
			r.Header.Set("Authorization", credential)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != want || (want == 401) != (rec.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%q: %d %v", credential, rec.Code, rec.Header())
		}
	}
}
