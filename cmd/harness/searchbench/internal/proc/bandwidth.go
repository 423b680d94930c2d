package proc

import (
	"bytes"
	"runtime"
	"sync"
	"time"
)

// Bandwidth is the memory bandwidth of all cores together, in bytes per second.
type Bandwidth struct {
	// Count is the speed of bytes.Count of one byte: it reads memory with the standard
	// library's vector code.
	Count float64 `json:"count"`
	// Index is the speed of bytes.Index of absentWord.
	Index float64 `json:"index"`
	// Copy is the speed of copying one buffer to another, with each byte counted once.
	Copy float64 `json:"copy"`
}

const (
	// passes is the number of passes, of which the fastest counts, because the question
	// is what the machine can do.
	passes = 5
	// absentWord begins like a common word but occurs in no text.
	absentWord = "retürn"
)

// MeasureBandwidth measures for about two seconds. sample is typical searched text, which
// is repeated to fill the buffers, because the speed of bytes.Index depends on the
// frequency of a word's letters. It must not be empty. size is the buffer size per core,
// which should be far above any cache.
func MeasureBandwidth(sample []byte, size int) Bandwidth {
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
