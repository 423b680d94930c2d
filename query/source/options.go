package source

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Defaults of Options.
const (
	DefaultMaxFileBytes = 8 << 20
	DefaultMaxDiffBytes = 16 << 20
	DefaultTimeout      = 30 * time.Second
	DefaultMaxWait      = 5 * time.Second
	DefaultCacheBytes   = 32 << 20
)

// Options configure a Browser. Index is required.
type Options struct {
	Index Index
	// Git is nil in a process that cannot reach a mirror; operations that need git then
	// fail with ErrUnavailable.
	Git Git
	// ServeUnreachable serves commits that no ref leads to, by commit ID, as long as a
	// mirror has them.
	ServeUnreachable bool
	// MaxFileBytes bounds a file that is shown or blamed, and MaxDiffBytes the output of
	// git for a difference.
	MaxFileBytes int64
	MaxDiffBytes int64
	// Timeout bounds a git call, and MaxWait the wait for a slot.
	Timeout time.Duration
	MaxWait time.Duration
	// MaxReads bounds concurrent reads of objects, each of which takes milliseconds.
	// MaxWalks bounds concurrent walks through history, which use at most two processes
	// each. Defaults: 4 for each processor, and 1 for each but at least 2.
	MaxReads int
	MaxWalks int
	// CacheBytes bounds the cached blames and counts.
	CacheBytes int64
	Now        func() time.Time
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() (Options, error) {
	if o.Index == nil {
		return o, errors.New("source: Index is required")
	}
	for _, n := range []int64{o.MaxFileBytes, o.MaxDiffBytes, int64(o.Timeout), int64(o.MaxWait), int64(o.MaxReads), int64(o.MaxWalks), o.CacheBytes} {
		if n < 0 {
			return o, fmt.Errorf("source: bounds may not be negative, have %d", n)
		}
	}
	setDefault(&o.MaxFileBytes, DefaultMaxFileBytes)
	setDefault(&o.MaxDiffBytes, DefaultMaxDiffBytes)
	setDefault(&o.Timeout, DefaultTimeout)
	setDefault(&o.MaxWait, DefaultMaxWait)
	setDefault(&o.MaxReads, 4*runtime.GOMAXPROCS(0))
	setDefault(&o.MaxWalks, max(2, runtime.GOMAXPROCS(0)))
	setDefault(&o.CacheBytes, DefaultCacheBytes)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	return o, nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
