package indexer

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkPush moves a branch of a repository on disk and handles its push. It measures
// the cost of a push without the host and the log. cpu-ms/op includes git processes.
func BenchmarkPush(b *testing.B) {
	w := newBench(b)
	var files []string
	for i := range 500 {
		files = append(files, fmt.Sprintf("dir%d/file%d.go", i%20, i), fmt.Sprintf("package dir\n\nfunc F%d() {}\n", i))
	}
	w.repo.CommitFiles(files...)
	w.registerRepository()
	var commits [2]code.CommitID
	for i := range commits {
		commits[i] = w.repo.CommitFiles("dir1/file1.go", fmt.Sprintf("package dir\n\nfunc G%d() {}\n", i))
	}
	before := processorTime(b)
	var moving time.Duration
	for i := 0; b.Loop(); i++ {
		start := processorTime(b)
		w.repo.Git("update-ref", "refs/heads/main", string(commits[i%2]))
		moving += processorTime(b) - start
		w.must(w.pushOf("main", 1))
	}
	b.ReportMetric(float64(processorTime(b)-before-moving)/float64(time.Millisecond)/float64(b.N), "cpu-ms/op")
}

// processorTime returns the CPU time used by the process and its finished children.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
