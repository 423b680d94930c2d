package boot

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestCollectWhileBuilding checks that collections are frequent while segments are built
// and for some time afterwards, until their memory has been collected.
func TestCollectWhileBuilding(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(90)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	percent := func() int {
		n := debug.SetGCPercent(90)
		debug.SetGCPercent(n)
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		building := CollectWhileBuilding(90)
		for range 2 {
			building(true)
			if got := percent(); got != buildingGCPercent {
				t.Errorf("%d %% while building, want %d", got, buildingGCPercent)
			}
			building(false)
			if got := percent(); got != buildingGCPercent {
				t.Errorf("%d %% just after building, want %d", got, buildingGCPercent)
			}
		}
		<-time.After(buildingPause)
		synctest.Wait()
		if got := percent(); got != 90 {
			t.Errorf("%d %% long after building, want 90", got)
		}
	})
	t.Setenv("GOGC", "70")
	if CollectWhileBuilding(90) != nil {
		t.Error("GOGC is overridden")
	}
}
