package store

import (
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Memory is a file system in memory for tests. It remembers what was synced, so
// that a test can see the store as a crash would leave it.
type Memory struct{ fs *vfs.MemFS }

// NewMemory returns an empty file system.
func NewMemory() *Memory { return &Memory{vfs.NewCrashableMem()} }

// Crash returns the file system as a power failure now would leave it: all that
// was synced, and of the rest each block with a probability of keepPercent in
// 100, drawn from seed. The receiver goes on unharmed.
func (m *Memory) Crash(keepPercent int, seed uint64) *Memory {
	cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: keepPercent}
	if keepPercent > 0 {
		cfg.RNG = rand.New(rand.NewPCG(seed, 0))
	}
	return &Memory{m.fs.CrashClone(cfg)}
}
