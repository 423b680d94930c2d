package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/iotest"

	"github.com/quarrysearch/quarry/query/web"
)

// TestSlowForm checks that a form that does not arrive in time, or not to its end, is not
// taken for a request of another kind.
func TestSlowForm(t *testing.T) {
	w := newWorld(t, nil)
	s, err := web.New(web.Options{
		Accounts: w.accounts, Repositories: repositories{}, Secret: []byte(secret), PublicURL: "https://code.example", Audit: &w.notes, Front: countingFront{w: w},
	})
	if err != nil {
		t.Fatal(err)
	}
	for cause, want := range map[error]int{os.ErrDeadlineExceeded: http.StatusRequestTimeout, io.ErrUnexpectedEOF: http.StatusBadRequest} {
		r, answer := httptest.NewRequest(http.MethodPost, "https://code.example/sign-in", iotest.ErrReader(cause)), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		s.ServeHTTP(answer, r)
		if answer.Code != want {
			t.Errorf("a form that ends with %v: %d, want %d", cause, answer.Code, want)
		}
	}
}
