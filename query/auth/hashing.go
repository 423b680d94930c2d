package auth

import (
	"errors"
	"time"
)

// Hashing says what a password costs, us and whoever guesses. The zero value is
// what OWASP asks for at least: 19 MiB, twice, in one thread.
type Hashing struct {
	MemoryKiB uint32
	Passes    uint32
	// Concurrency bounds the hashings at once, Waiting those that wait and Wait how
	// long one does; beyond them is ErrBusy.
	Concurrency int
	Waiting     int
	Wait        time.Duration
}

// Defaults and bounds of Hashing.
const (
	DefaultMemoryKiB   = 19 << 10
	DefaultPasses      = 2
	DefaultConcurrency = 2
	DefaultWaiting     = 32
	DefaultWait        = 5 * time.Second
	// maxMemoryKiB and maxPasses bound what a stored hash may ask for.
	maxMemoryKiB = 1 << 20
	maxPasses    = 16
)

func (h *Hashing) ensureDefaults() {
	setDefault(&h.MemoryKiB, DefaultMemoryKiB)
	setDefault(&h.Passes, DefaultPasses)
	setDefault(&h.Concurrency, DefaultConcurrency)
	setDefault(&h.Waiting, DefaultWaiting)
	setDefault(&h.Wait, DefaultWait)
}

func (h *Hashing) validate() error {
	if h.MemoryKiB > maxMemoryKiB || h.Passes > maxPasses || h.Concurrency < 0 || h.Waiting < 0 || h.Wait < 0 {
		return errors.New("auth: hashing takes at most 1 GiB and 16 passes, and no negative bounds")
	}
	return nil
}
