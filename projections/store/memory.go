package store

import (
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Memory is a file system in memory for tests. It remembers what was synced, so
// that a test can see the store as a crash would leave it.
type Memory struct {
	fs *vfs.MemFS
	// hooked is fs, or fs with a function that is called before each write.
	hooked vfs.FS
}

// NewMemory returns an empty file system.
func NewMemory() *Memory { return newMemory(vfs.NewCrashableMem()) }

func newMemory(fs *vfs.MemFS) *Memory { return &Memory{fs, fs} }

// BeforeWrites has f called before every operation that changes the file system,
// syncs too, of stores that are opened from now on: on the goroutine that does
// it, of which there are several. f may take a Crash.
func (m *Memory) BeforeWrites(f func()) {
	m.hooked = errorfs.Wrap(m.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			f()
		}
		return nil
	}))
}

// Crash returns the file system as a power failure now would leave it: all that
// was synced, and of the rest each block with a probability of keepPercent in
// 100, drawn from seed. The receiver goes on unharmed.
func (m *Memory) Crash(keepPercent int, seed uint64) *Memory {
	cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: keepPercent}
	if keepPercent > 0 {
		cfg.RNG = rand.New(rand.NewPCG(seed, 0))
	}
	return newMemory(m.fs.CrashClone(cfg))
}
