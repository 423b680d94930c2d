package search

import (
	"reflect"
	"slices"
	"testing"
)

// TestStatsAddEveryCost adds the stats of two searches. All costs are sums; what describes the
// answer, or passes while a search waits and shows it, stays that of the first.
func TestStatsAddEveryCost(t *testing.T) {
	kept := []string{"Matches", "Files", "Displayed", "Duration", "Wait", "Searching", "Ranking", "Rendering", "FilesSkipped"}
	var sum, other Stats
	a, b := reflect.ValueOf(&sum).Elem(), reflect.ValueOf(&other).Elem()
	for i := range a.NumField() {
		a.Field(i).SetInt(int64(i + 1))
		b.Field(i).SetInt(1000)
	}
	sum.Add(&other)
	for i := range a.NumField() {
		name, want := a.Type().Field(i).Name, int64(i+1001)
		if slices.Contains(kept, name) {
			want = int64(i + 1)
		}
		if got := a.Field(i).Int(); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}
