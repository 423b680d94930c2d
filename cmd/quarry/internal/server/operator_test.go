package server

import (
	"flag"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

// operators holds the operator's transport for each server, by address.
var operators sync.Map // of *operator.Transport

// toOperator sends requests to the servers of this test process as their operator.
type toOperator struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t toOperator) RoundTrip(r *http.Request) (*http.Response, error) {
	if known, ok := operators.Load(r.URL.Host); ok {
		return known.(*operator.Transport).RoundTrip(r)
	}
	return t.next.RoundTrip(r)
}

// minParallel is the minimum number of tests that run at the same time. It is more than
// most machines have processors, because most tests wait for git, for disks and for timers.
const minParallel = 6

// maxTestHeap is a third of what the tests took without a bound, most of it garbage.
const maxTestHeap = 3 << 30

// TestMain makes requests of the default client authenticate as the operator, and raises
// -parallel to minParallel. Tests that change or measure the process are not parallel.
// Its hundreds of servers are small, so that garbage is collected less often than usual,
// until there are maxTestHeap bytes of it.
func TestMain(m *testing.M) {
	http.DefaultClient.Transport = toOperator{http.DefaultTransport}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(maxTestHeap)
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.(flag.Getter).Get().(int) < minParallel {
		if err := parallel.Value.Set(strconv.Itoa(minParallel)); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// sendWithCredential sends a request with the given credential, or without one.
func sendWithCredential(t *testing.T, method, url, credential string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	return http.DefaultTransport.RoundTrip(r)
}
