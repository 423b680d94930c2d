package server

import (
	"net/http"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

// operators are the transports that ask a server as its operator, by its address.
var operators sync.Map // of *operator.Transport

// toOperator sends what is for a server of this test as its operator.
type toOperator struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t toOperator) RoundTrip(r *http.Request) (*http.Response, error) {
	if known, ok := operators.Load(r.URL.Host); ok {
		return known.(*operator.Transport).RoundTrip(r)
	}
	return t.next.RoundTrip(r)
}

// TestMain lets the tests, except for those that say otherwise, ask as the operator.
func TestMain(m *testing.M) {
	http.DefaultClient.Transport = toOperator{http.DefaultTransport}
	m.Run()
}

// asNobody sends a request without a credential, or with the one that is given.
func asNobody(t *testing.T, method, url, credential string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	return http.DefaultTransport.RoundTrip(r)
}
