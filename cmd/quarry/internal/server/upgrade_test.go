package server

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/registry"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// TestUpgradeFromBeforeTheLedger opens a data directory whose projections were written by
// a version without a ledger. The projections are rebuilt from the log.
func TestUpgradeFromBeforeTheLedger(t *testing.T) {
	t.Parallel()
	tree := gitTree(t, map[string]string{"a.go": "package kazoo\n"})
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(tree))
	t.Run("before", func(t *testing.T) {
		s := runServer(t, c)
		var r, refresh registration
		postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"kazoo"}`, tree), &r)
		awaitStatus(t, s, r.RepoID, r.isApplied)
		if status := postJSON(t, fmt.Sprintf("%s/api/repos/%d/refresh", s.URL(), r.RepoID), "", &refresh); status != http.StatusAccepted {
			t.Fatalf("refresh: %d, want %d", status, http.StatusAccepted)
		}
		awaitStatus(t, s, r.RepoID, refresh.isApplied)
	})
	dropLedger(t, c.ProjectionsDir())
	s := open(t, c, prometheus.NewRegistry(), prometheus.NewRegistry())
	if n := s.versions.Live().Catalog.Snapshot().Len(); n != 1 {
		t.Errorf("%d repositories after the upgrade", n)
	}
	page, err := s.versions.Live().Ledger.List(ledger.Query{Limit: 10})
	if err != nil || len(page.Deliveries) != 1 || page.Deliveries[0].Source != registry.EventSource {
		t.Errorf("the ledger has %+v after the upgrade: %v", page, err)
	}
}

// dropLedger removes all rows of the ledger from the live store.
func dropLedger(t *testing.T, dir string) {
	t.Helper()
	home, err := projections.OpenHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	current, err := home.Current()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(current, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if version, err := s.Schema("deliveries"); err != nil || version != deliveries.SchemaVersion {
		t.Fatalf("the store has version %d of the ledger: %v", version, err)
	}
	b := s.NewBatch()
	family := []byte{byte(store.FamilyDeliveries)}
	for _, err := range []error{b.DeleteRange(family, store.Successor(family)), b.Delete(append([]byte{byte(store.FamilyMeta), 's'}, "deliveries"...)), b.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
