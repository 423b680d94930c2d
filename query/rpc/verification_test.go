package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// TestVerification streams the findings of a verification, and says why one does not begin or end.
func TestVerification(t *testing.T) {
	errBroken := errors.New("the index cannot be read")
	for name, x := range map[string]struct {
		verify   func(ctx context.Context, r verification.Request, emit func(*verification.Finding) error) error
		want     string // of the findings and the error
		isRefuse bool
	}{
		"complete": {func(_ context.Context, r verification.Request, emit func(*verification.Finding) error) error {
			return errors.Join(emit(&verification.Finding{Type: verification.Difference, Repository: r.Repositories[0]}), emit(&verification.Finding{Type: verification.Summary, Counts: &verification.Counts{Files: 3}}))
		}, "difference 7, summary 0, <nil>", false},
		"refused": {func(context.Context, verification.Request, func(*verification.Finding) error) error {
			return verification.ErrBusy
		}, "another verification is running", true},
		"broken": {func(_ context.Context, _ verification.Request, emit func(*verification.Finding) error) error {
			return errors.Join(emit(&verification.Finding{Type: verification.Progress}), errBroken)
		}, `progress 0, the shard refuses the operation: "the index cannot be read"`, true},
		"killed": {func(_ context.Context, _ verification.Request, emit func(*verification.Finding) error) error {
			_ = emit(&verification.Finding{Type: verification.Progress})
			panic(http.ErrAbortHandler)
		}, "progress 0, ", false},
		"older release": {nil, ErrOlderRelease.Error(), true},
	} {
		p := startShard(t, 0, func(o *ServerOptions) { o.Verify = x.verify })
		var got []string
		err := p.Verify(t.Context(), verification.Request{Repositories: []code.RepositoryID{7}}, func(f *verification.Finding) error {
			got = append(got, fmt.Sprintf("%s %d", f.Type, uint64(f.Repository)))
			return nil
		})
		text := strings.Join(append(got, fmt.Sprint(err)), ", ")
		if !strings.Contains(text, x.want) || errors.Is(err, ErrOperation) != x.isRefuse || (err == nil) != (name == "complete") {
			t.Errorf("%s: %s, want %s", name, text, x.want)
		}
	}
}
