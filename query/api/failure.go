package api

import (
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Failure is a failure of the pipeline.
type Failure struct {
	Code failure.Code
	// Detail has the words of git or of the server, which name directories and hosts:
	// owners alone see it.
	Detail string
	At     time.Time
}

// userMessage says what the failure means and what to do.
func (f *Failure) userMessage() string { return failure.Describe(f.Code).Message() }

// detailFor returns the detail for an owner with the scope admin and for the
// operator; empty for other callers.
func (f *Failure) detailFor(r *http.Request) string {
	if !auth.From(r.Context()).Owner() {
		return ""
	}
	return failure.Clean(f.Detail, failure.MaxDetailBytes)
}
