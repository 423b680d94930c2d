package clocktest

import (
	"runtime"
	"testing"
	"time"
)

const (
	// sizeRatio is the ratio of the two sizes that CheckLinear compares. A linear cost
	// grows by the same factor, a quadratic one by its square.
	sizeRatio = 8
	// maxGrowth is the largest accepted ratio of the two costs.
	maxGrowth = 3 * sizeRatio
	// cheap is the processor time that is accepted without a comparison. It is only a
	// saving: on a slow machine, more inputs are compared.
	cheap = 50 * time.Millisecond
	// repetitions bounds the measurements of one input. Other work on the machine can
	// make a measurement too large, but never too small.
	repetitions = 8
)

// CheckLinear calls run with a size and, if that is not cheap, with an eighth of it. It
// reports an error if the cost grows faster than in proportion: by more than 24 times,
// where a linear cost grows by 8 and a quadratic one by 64. The cost is the processor
// time of the calling goroutine, which the load of the machine does not change much; run
// must not leave work to other goroutines. Each cost is the smallest of several
// measurements, in turns.
func CheckLinear(t testing.TB, what string, size int, run func(size int)) {
	t.Helper()
	large := measureCPU(func() { run(size) })
	if large <= cheap {
		return
	}
	// One measurement of the smaller size that is too large could hide a quadratic cost.
	measureSmall := func() time.Duration { return measureCPU(func() { run(size / sizeRatio) }) }
	small := min(measureSmall(), measureSmall())
	isTooLarge := func() bool { return large > cheap && large > maxGrowth*small }
	for n := 1; n < repetitions && isTooLarge(); n++ {
		large = min(large, measureCPU(func() { run(size) }))
		small = min(small, measureSmall())
	}
	if isTooLarge() {
		t.Errorf("%s: size %d takes %v of processor time and size %d takes %v, which is %.1f times as long; at most %d times is linear",
			what, size/sizeRatio, small, size, large, float64(large)/float64(small), maxGrowth)
	}
}

// measureCPU returns the processor time that f takes.
func measureCPU(f func()) time.Duration {
	runtime.LockOSThread() // readThreadTime reads the clock of one thread
	defer runtime.UnlockOSThread()
	start := readThreadTime()
	f()
	return readThreadTime() - start
}
