package server

import (
	"errors"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A process whose projections were lost must not tell a host that its repository
// is not registered: the push would be ignored for good.
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
