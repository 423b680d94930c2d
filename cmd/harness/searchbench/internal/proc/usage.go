package proc

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Usage is the resource usage of a program and its children.
type Usage struct {
	Wall time.Duration
	// PeakBytes is the highest resident memory of the tree (see the package comment).
	PeakBytes int64
	// UserTime and SystemTime are the CPU times of the program and the children that it
	// waited for. They are zero while it runs.
	UserTime, SystemTime time.Duration
}

// Memory is the resident memory of a running tree of processes.
type Memory struct {
	ResidentBytes int64
	// AnonymousBytes excludes pages of mapped files, which the kernel can evict.
	AnonymousBytes int64
}

// Usage returns the measurements so far. They are final after the end.
func (p *Process) Usage() Usage {
	u := Usage{Wall: time.Since(p.started)}
	if p.sampler != nil {
		u.PeakBytes = p.sampler.peakBytes()
	}
	select {
	case <-p.done:
		u.Wall = p.wall
		if state := p.cmd.ProcessState; state != nil {
			u.UserTime, u.SystemTime = state.UserTime(), state.SystemTime()
		}
	default:
	}
	return u
}

// Memory returns the current memory of the tree.
func (p *Process) Memory() Memory { return treeMemory(p.cmd.Process.Pid).Memory }

// CPU returns the processor time of the tree so far: that of its running processes and of
// the children that they waited for.
func (p *Process) CPU() time.Duration {
	var ticks int64
	group, others := treeMembers(p.cmd.Process.Pid)
	for _, pid := range slices.Concat(group, others) {
		fields := statFields(pid)
		for _, i := range []int{statUserTime, statSystemTime, statChildUserTime, statChildSystemTime} {
			if i < len(fields) {
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				ticks += n
			}
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// WrittenBytes returns the number of bytes that the program and the children that it
// waited for have written to the disk, or 0 if the kernel does not report it.
func (p *Process) WrittenBytes() int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/io")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if n, ok := bytes.CutPrefix(line, []byte("write_bytes: ")); ok {
			written, _ := strconv.ParseInt(string(bytes.TrimSpace(n)), 10, 64)
			return written
		}
	}
	return 0
}

// ResetPeak resets the peak, so that one phase of a server's life can be measured.
func (p *Process) ResetPeak() {
	if p.sampler != nil {
		p.sampler.reset()
	}
}

// sampleInterval is the interval at which memory is read. A read costs about 20 µs per
// process of the machine, which must not affect an import.
const sampleInterval = 200 * time.Millisecond

type sampler struct {
	root  int
	quit  chan struct{}
	ended chan struct{}
	mu    struct {
		sync.Mutex
		peak   int64
		ignore bool // VmHWM covers the whole life of a process, so it is useless after a reset
	}
}

func startSampler(root int) *sampler {
	s := &sampler{root: root, quit: make(chan struct{}), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s *sampler) run() {
	defer close(s.ended)
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-ticker.C:
			s.sampleMemory()
		}
	}
}

func (s *sampler) sampleMemory() {
	m := treeMemory(s.root)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.peak = max(s.mu.peak, m.ResidentBytes)
	if !s.mu.ignore {
		s.mu.peak = max(s.mu.peak, m.highWater)
	}
}

func (s *sampler) peakBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.peak
}

func (s *sampler) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.peak, s.mu.ignore = 0, true
}

func (s *sampler) stop() {
	close(s.quit)
	<-s.ended
}

type treeSample struct {
	Memory
	highWater int64 // highest value of a single process
}

// treeMemory returns the sum over the processes of a tree. Processes that end in the
// meantime are ignored. Of those in other groups, only the memory without mapped files
// counts: git maps whole packs.
func treeMemory(root int) treeSample {
	var sum treeSample
	group, others := treeMembers(root)
	for _, pid := range others {
		anonymous := statusFields("/proc/" + pid + "/status")["RssAnon"]
		sum.ResidentBytes += anonymous
		sum.AnonymousBytes += anonymous
	}
	for _, pid := range group {
		fields := statusFields("/proc/" + pid + "/status")
		sum.ResidentBytes += fields["VmRSS"]
		sum.AnonymousBytes += fields["RssAnon"]
		sum.highWater = max(sum.highWater, fields["VmHWM"])
	}
	return sum
}

// treeMembers returns the process IDs of the group that root leads, and those of their
// descendants in other groups, as Quarry's git processes are.
func treeMembers(root int) (group, others []string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, nil
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, nil
	}
	children := make(map[string][]string)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		fields := statFields(name)
		if len(fields) <= statGroup {
			continue
		}
		if fields[statGroup] == strconv.Itoa(root) {
			group = append(group, name)
		} else {
			children[fields[statParent]] = append(children[fields[statParent]], name)
		}
	}
	for _, pid := range group {
		others = append(others, children[pid]...)
	}
	for i := 0; i < len(others); i++ {
		others = append(others, children[others[i]]...)
	}
	return group, others
}

// These are indexes of statFields, and the unit of its times, which is the same on every
// Linux (proc(5)).
const (
	statParent          = 1
	statGroup           = 2
	statUserTime        = 11
	statSystemTime      = 12
	statChildUserTime   = 13
	statChildSystemTime = 14
	ticksPerSecond      = 100
)

// statFields returns the fields of /proc/PID/stat after the second one, the name, which
// may contain anything but ends at the last parenthesis.
func statFields(pid string) []string {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) // STATE PPID PGRP …
}

// statusFields returns the fields of /proc/PID/status that are given in kB, converted to
// bytes.
func statusFields(path string) map[string]int64 {
	fields := make(map[string]int64)
	f, err := os.Open(path)
	if err != nil {
		return fields
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		name, value, ok := strings.Cut(scanner.Text(), ":")
		if kilobytes, isSize := strings.CutSuffix(strings.TrimSpace(value), " kB"); ok && isSize {
			if n, err := strconv.ParseInt(kilobytes, 10, 64); err == nil {
				fields[name] = n << 10
			}
		}
	}
	return fields
}
