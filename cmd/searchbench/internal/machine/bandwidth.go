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
	// Index is bytes.Index of absentWord.
	Index float64 `json:"index"`
	// Copy is copy of one buffer to another, counted once.
	Copy float64 `json:"copy"`
}

const (
	// bufferBytes per core is far above any cache.
	bufferBytes = 256 << 20
	// passes of which the fastest counts: the question is what the machine can do.
	passes = 5
	// absentWord begins like a common word and is in no text.
	absentWord = "retürn"
)

// MeasureBandwidth takes about two seconds. sample is text of the kind that is searched, repeated to fill the buffers: how fast bytes.Index is depends
// on how often a word's letters occur. It must not be empty.
func MeasureBandwidth(sample []byte) Bandwidth { return measureWith(sample, bufferBytes) }

func measureWith(sample []byte, size int) Bandwidth {
	cores := runtime.GOMAXPROCS(0)
	from, to := make([][]byte, cores), make([][]byte, cores)
	for i := range from {
		from[i], to[i] = make([]byte, size), make([]byte, size)
		for n := 0; n < size; {
			n += copy(from[i][n:], sample)
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
		Index: each(func(i int) { bytes.Index(from[i], []byte(absentWord)) }),
		Copy:  each(func(i int) { copy(to[i], from[i]) }),
	}
}
