package machine

import (
	"bytes"
	"runtime"
	"sync"
	"time"
)

// Bandwidth is what all cores do together, in bytes per second.
type Bandwidth struct {
	// Count is bytes.Count of one byte: reading memory with the standard library's vector code.
	Count float64 `json:"count"`
	// Index is bytes.Index of a word of six letters that is not there.
	Index float64 `json:"index"`
	// Copy is copy of one buffer to another, counted once.
	Copy float64 `json:"copy"`
}

const (
	// bufferBytes per core is far above any cache.
	bufferBytes = 256 << 20
	// passes of which the fastest counts: the question is what the machine can do.
	passes = 5
)

// MeasureBandwidth takes about two seconds.
func MeasureBandwidth() Bandwidth { return measure(bufferBytes) }

func measure(size int) Bandwidth {
	cores := runtime.GOMAXPROCS(0)
	from, to := make([][]byte, cores), make([][]byte, cores)
	for i := range from {
		from[i], to[i] = make([]byte, size), make([]byte, size)
		for j := range from[i] {
			from[i][j] = "the quick brown fox\n"[j%20]
		}
		copy(to[i], from[i])
	}
	each := func(work func(i int)) float64 {
		var best time.Duration
		for range passes {
			start := time.Now()
			var group sync.WaitGroup
			for i := range cores {
				group.Go(func() { work(i) })
			}
			group.Wait()
			if took := time.Since(start); best == 0 || took < best {
				best = took
			}
		}
		return float64(size*cores) / max(best, 1).Seconds()
	}
	return Bandwidth{
		Count: each(func(i int) { bytes.Count(from[i], []byte{'\n'}) }),
		Index: each(func(i int) { bytes.Index(from[i], []byte("return")) }),
		Copy:  each(func(i int) { copy(to[i], from[i]) }),
	}
}
