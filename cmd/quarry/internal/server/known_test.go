package server

import (
	"errors"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A process whose projections were lost must not report a repository as
// unregistered: the host would count the push as delivered, and it would be lost.
func TestUnknownRepositoryWhileCatchingUpIsNoAnswer(t *testing.T) {
	s := openOnly(t, testConfig(t))
	k := webhookCatalog{s.repositories, s.versions}
	if _, err := k.Find(t.Context(), code.Repository{ID: 7}); !errors.Is(err, errCatchingUp) || errors.Is(err, code.ErrNotFound) {
		t.Errorf("%v before the projections have caught up, want errCatchingUp", err)
	}
	run(t, s)
	<-s.versions.live.Load().runner.CaughtUp()
	if _, err := k.Find(t.Context(), code.Repository{ID: 7}); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("%v afterwards, want ErrNotFound", err)
	}
}
