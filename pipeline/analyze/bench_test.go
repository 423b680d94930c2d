package analyze

import "testing"

// BenchmarkDocument analyzes the Go standard library.
func BenchmarkDocument(b *testing.B) {
	benchmark(b, func(a *Analyzer, f file) { a.Document(f.path, f.text) })
}

// BenchmarkPlace determines only language and flags.
func BenchmarkPlace(b *testing.B) {
	benchmark(b, func(a *Analyzer, f file) { a.Place(f.path, f.text) })
}

func benchmark(b *testing.B, run func(*Analyzer, file)) {
	dir := goSource(b)
	if *treeFlag != "" {
		dir = *treeFlag // a tree that fits into memory
	}
	files := readTree(b, dir, 10_000)
	size := int64(0)
	for _, f := range files {
		size += int64(len(f.text))
	}
	a := New(Options{})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range files {
			run(a, f)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(files)), "µs/file")
}
