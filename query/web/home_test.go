package web_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// countedStatus counts the statuses that pages read; every second one cannot be read.
type countedStatus struct {
	http.Handler
	reads atomic.Int64
}

func (c *countedStatus) Status(context.Context, code.RepositoryID) (indexing.Status, error) {
	if c.reads.Add(1)%2 == 0 {
		return indexing.Status{}, errors.New("the log does not answer")
	}
	return indexing.Status{State: indexing.Registered}, nil
}

// TestHomeReadsFewStatuses checks that the home page does not read the status of each of many
// repositories that are being imported.
func TestHomeReadsFewStatuses(t *testing.T) {
	status := &countedStatus{Handler: http.NotFoundHandler()}
	w := newAPIWorld(t, status, &fakeSearches{importing: 500}, nil)
	w.browser.get("/").expectPage(http.StatusOK, "Being imported", known[0].Name, "496 repositories are registered")
	if n := status.reads.Load(); n > 8 {
		t.Errorf("one page reads the status of %d repositories", n)
	}
}
