package config

import (
	"testing"
)

// TestMemoryFits checks that the plan stays below 85 % of every limit of at least 512 MB,
// whatever the number of processors and the roles.
func TestMemoryFits(t *testing.T) {
	for _, limit := range []int64{512_000_000, 512 << 20, 768 << 20, 1 << 30, 3 << 29, 2 << 30, 4 << 30, 8 << 30, 64 << 30} {
		for _, processors := range []int{1, 2, 4, 16, 128} {
			for _, roles := range [][]string{{"ingest", "pipeline", "query"}, {"query"}, {"pipeline"}} {
				c := Default()
				c.Roles, c.Log.Driver, c.Log.Kafka.Brokers = roles, "kafka", []string{"localhost:9092"}
				l := c.LimitMemory(64<<30, limit, "memory.max", nil, processors)
				if limit == 64<<30 {
					l = c.LimitMemory(limit, 0, "", nil, processors)
				}
				c.FitMemory(l.TotalBytes, processors)
				if planned := c.PlannedBytes(); planned > l.TotalBytes || l.TotalBytes > limit/100*memoryShare {
					t.Errorf("%d MiB, %d processors, %v: %d MiB planned of %d", limit>>20, processors, roles, planned>>20, l.TotalBytes>>20)
				}
				if heap := int64(c.Runtime.MemoryLimitBytes); heap < c.workBytes() {
					t.Errorf("%d MiB, %d processors, %v: a heap of %d MiB for work of %d MiB", limit>>20, processors, roles, heap>>20, c.workBytes()>>20)
				}
				if err := c.Validate(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name           string
		machine, group int64
		environ        []string
		set            Bytes
		want           int64
		source         string
	}{
		{"a large machine", 64 * gib, 0, nil, 0, 2 * gib, "machine"},
		{"a small machine", 100 * 10 << 20, 0, nil, 0, 85 * 10 << 20, "machine"},
		{"nothing is known", 0, 0, nil, 0, gib, "unknown"},
		{"a control group", 64 * gib, 100 * 10 << 20, nil, 0, 85 * 10 << 20, "memory.max"},
		{"a group above the machine", 100 * 10 << 20, 64 * gib, nil, 0, 85 * 10 << 20, "machine"},
		{"GOMEMLIMIT", 64 * gib, 8 * gib, []string{"A=b", "GOMEMLIMIT=700MiB"}, 0, 700 << 20, "GOMEMLIMIT"},
		{"a larger GOMEMLIMIT", 64 * gib, 100 * 10 << 20, []string{"GOMEMLIMIT=8GiB"}, 0, 85 * 10 << 20, "memory.max"},
		{"GOMEMLIMIT in bytes", 64 * gib, 0, []string{"GOMEMLIMIT=536870912"}, 0, 512 << 20, "GOMEMLIMIT"},
		{"GOMEMLIMIT off", 64 * gib, 0, []string{"GOMEMLIMIT=off"}, 0, 2 * gib, "machine"},
		{"GOMEMLIMIT of nonsense", 64 * gib, 0, []string{"GOMEMLIMIT=9999999999TiB"}, 0, 2 * gib, "machine"},
		{"the setting", 64 * gib, 8 * gib, []string{"GOMEMLIMIT=1GiB"}, 3 * gib, 3 * gib, "runtime.memoryBytes"},
	} {
		s := Default()
		s.Runtime.MemoryBytes = c.set
		if l := s.LimitMemory(c.machine, c.group, "memory.max", c.environ, 4); l.TotalBytes != c.want || l.Source != c.source {
			t.Errorf("%s: %+v, want %d of %s", c.name, l, c.want, c.source)
		}
	}
}

// TestSettingsOfMemoryWin checks that memory settings that are set are kept, that the
// others are derived, and that a plan above the limit causes a warning.
func TestSettingsOfMemoryWin(t *testing.T) {
	c := Default()
	c.Cache.FramesBytes, c.Pipeline.Builders = 100<<20, 1
	l := c.LimitMemory(64<<30, 1<<30, "memory.max", nil, 4)
	c.FitMemory(l.TotalBytes, 4)
	if c.Cache.FramesBytes != 100<<20 || c.Pipeline.Builders != 1 || c.PlannedBytes() > l.TotalBytes || c.CheckPlan(l) != "" {
		t.Errorf("%+v", c.Cache)
	}
	c = Default()
	c.Cache.FramesBytes = 2 << 30
	c.FitMemory(l.TotalBytes, 4)
	if c.CheckPlan(l) == "" {
		t.Error("no warning of a cache larger than the memory")
	}
}
