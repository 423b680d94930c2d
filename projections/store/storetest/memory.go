// Package storetest keeps the files of a store in memory. It is for tests.
//
// It answers the question "what is left of a store after a power failure?".
package storetest

import (
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Memory is an in-memory file system for tests. It tracks what was synced, so that a test
// can see the store in the state after a crash.
type Memory struct {
	fs *vfs.MemFS
	// hooked is fs, or fs wrapped with a function that is called before each write.
	hooked vfs.FS
}

// NewMemory returns an empty file system.
func NewMemory() *Memory { return newMemory(vfs.NewCrashableMem()) }

func newMemory(fs *vfs.MemFS) *Memory { return &Memory{fs, fs} }

// FileSystem returns the file system for store.Options.FileSystem.
func (m *Memory) FileSystem() vfs.FS { return m.hooked }

// BeforeWrites sets a function that is called before every operation that changes the
// file system, including syncs. It affects only stores that are opened afterward. f is
// called on the goroutine of the operation, possibly concurrently. It may call Crash.
func (m *Memory) BeforeWrites(f func()) {
	m.hooked = errorfs.Wrap(m.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			f()
		}
		return nil
	}))
}

// Crash returns the file system in the state after a power failure now: all synced data
// and, of the rest, each block with a probability of keepPercent in 100, drawn from seed.
// The receiver is not affected.
func (m *Memory) Crash(keepPercent int, seed uint64) *Memory {
	cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: keepPercent}
	if keepPercent > 0 {
		cfg.RNG = rand.New(rand.NewPCG(seed, 0))
	}
	return newMemory(m.fs.CrashClone(cfg))
}
