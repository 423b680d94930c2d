package stat

import (
	"math"
	"slices"
	"time"
)

// Median returns the median: of an even number of durations, the larger one of the two in
// the middle. Without durations it returns 0.
func Median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(d))[len(d)/2]
}

// Quantile returns the smallest of the durations that is not exceeded by a share q of
// them, or 0 if there are none. q is in (0, 1].
func Quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(d))))
	return slices.Sorted(slices.Values(d))[min(max(rank, 1), len(d))-1]
}

// GeometricMean returns the geometric mean of the positive values, or 0 if there are
// none.
func GeometricMean[T ~int64 | ~float64](values []T) T {
	sum, n := 0.0, 0
	for _, v := range values {
		if v > 0 {
			sum += math.Log(float64(v))
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return T(math.Exp(sum / float64(n)))
}

// TrimmedGeometricMean is GeometricMean without the smallest and the largest tenth of the
// values, rounded up, so that single outliers do not decide.
func TrimmedGeometricMean(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if cut := (len(sorted) + 9) / 10; len(sorted) > 2*cut {
		sorted = sorted[cut : len(sorted)-cut]
	}
	return GeometricMean(sorted)
}
