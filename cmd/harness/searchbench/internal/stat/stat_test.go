package stat

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		d    []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{3, 1, 2}, 0.5, 2},
		{[]time.Duration{4, 3, 1, 2}, 0.5, 2},
		{[]time.Duration{4, 3, 1, 2}, 0.01, 1},
		{[]time.Duration{4, 3, 1, 2}, 0.75, 3},
		{[]time.Duration{4, 3, 1, 2}, 1, 4},
	} {
		if got := Quantile(c.d, c.q); got != c.want {
			t.Errorf("the %g-quantile of %v is %v, want %v", c.q, c.d, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	d := []time.Duration{4, 3, 1, 2}
	if Median(nil) != 0 || Median(d[1:]) != 2 || Median(d) != 3 || d[0] != 4 {
		t.Errorf("medians of nothing, 3 1 2 and 4 3 1 2: %v, %v, %v; want 0, 2, 3 and an unchanged input: %v", Median(nil), Median(d[1:]), Median(d), d)
	}
}

func TestGeometricMean(t *testing.T) {
	if got := GeometricMean([]float64{2, 0, 8}); got < 3.999 || got > 4.001 {
		t.Errorf("the mean of 2 and 8, without 0, is %v, want 4", got)
	}
	if got := GeometricMean([]time.Duration(nil)); got != 0 {
		t.Errorf("the mean of nothing is %v, want 0", got)
	}
}

func TestTrimmedGeometricMean(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{2, 8}, 4}, {[]float64{1000, 2, 8, 0.001}, 4}} {
		if got := TrimmedGeometricMean(c.values); got < c.want*0.999 || got > c.want*1.001 {
			t.Errorf("the trimmed mean of %v is %v, want %v", c.values, got, c.want)
		}
	}
}
