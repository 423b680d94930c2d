package web_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/sharding"
)

// frontAPI is the API of a front of three shares: all replicas of the second one are lost, and one
// of the third.
type frontAPI struct{}

// ServeHTTP implements http.Handler.
func (frontAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body := `{}`
	if strings.HasSuffix(r.URL.Path, "/repos") {
		w.Header().Set("X-Total-Count", "0")
		body = `[]`
	}
	_, _ = io.WriteString(w, body)
}

func (frontAPI) Replicas() []sharding.Replica {
	refused := errors.New("connection <refused>")
	return []sharding.Replica{
		{Share: "0/3", Partitions: []int32{0}, Address: "10.0.0.1:6080", Version: "v9.8.7", Age: 90 * time.Second},
		{Share: "1/3", Partitions: []int32{1}, Address: "10.0.0.2:6080", Failure: refused},
		{Share: "1/3", Partitions: []int32{1}, Address: "10.0.0.3:6080", Failure: refused},
		{Share: "2/3", Partitions: []int32{2, 5}, Address: "10.0.0.4:6080", Failure: refused},
		{Share: "2/3", Partitions: []int32{2, 5}, Address: "10.0.0.5:6080", Version: "v9.8.6"},
	}
}

// TestShardsAreListed checks that the administration page of a front shows its replicas, and says
// which shares are lost.
func TestShardsAreListed(t *testing.T) {
	w := newAPIWorld(t, frontAPI{}, nil, nil)
	page := w.setUp().get("/admin").expectPage(http.StatusOK,
		"10.0.0.1:6080", "v9.8.7", "1 min", "10.0.0.2:6080", "connection <refused>", "2 partitions", "v9.8.6",
		"No replica of the share 1/3 answers").page
	if strings.Count(page, "No replica of the share") != 1 || strings.Contains(page, "<refused>") {
		t.Errorf("want one lost share, and escaped reasons:\n%s", page)
	}
}
