package indexer

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
)

// TestClassify checks the class of each failure; see the package comment.
func TestClassify(t *testing.T) {
	verdicts := []error{worker.ErrPermanent, worker.ErrElsewhere, worker.ErrUnavailable}
	for _, test := range []struct{ err, want error }{
		{mirror.ErrRefused, worker.ErrPermanent},
		{mirror.ErrUnauthorized, worker.ErrPermanent},
		{mirror.ErrTooLarge, worker.ErrPermanent},
		{mirror.ErrNoDefaultBranch, worker.ErrPermanent},
		{mirror.ErrUnreachable, worker.ErrElsewhere},
		{mirror.ErrTimeout, worker.ErrElsewhere},
		{mirror.ErrDiskFull, worker.ErrUnavailable},
		{syscall.ENOSPC, worker.ErrUnavailable},
		{mirror.ErrVanished, nil},
		{mirror.ErrGit, nil},
		{context.Canceled, nil},
	} {
		got := classifyError(fmt.Errorf("fetch: %w", test.err))
		if !errors.Is(got, test.err) {
			t.Errorf("%v became %v", test.err, got)
		}
		for _, v := range verdicts {
			if errors.Is(got, v) != (v == test.want) {
				t.Errorf("%v: is %v: %t", test.err, v, errors.Is(got, v))
			}
		}
	}
	if classifyError(nil) != nil {
		t.Error("no failure is one")
	}
}
