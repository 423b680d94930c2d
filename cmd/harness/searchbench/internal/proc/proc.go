package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec describes a program to run.
type Spec struct {
	Path string
	Args []string
	Env  []string // added to this process's environment
	Dir  string
	// Unmetered turns off the measurement of memory, for helpers of which many run at the
	// same time.
	Unmetered bool
}

// Process is a running program and its children.
type Process struct {
	name    string
	cmd     *exec.Cmd
	started time.Time
	output  *tail
	done    chan struct{} // closed after Wait
	err     error         // valid once done is closed
	wall    time.Duration // valid once done is closed
	sampler *sampler
}

// stopGrace bounds the time that a program may take to end after SIGTERM.
const stopGrace = 30 * time.Second

// Start runs spec in its own process group. The caller must call Stop or Wait.
func Start(spec Spec) (*Process, error) {
	p := &Process{name: filepath.Base(spec.Path), output: &tail{}, done: make(chan struct{})}
	p.cmd = exec.Command(spec.Path, spec.Args...)
	p.cmd.Dir = spec.Dir
	p.cmd.Env = append(os.Environ(), spec.Env...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = 5 * time.Second
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	if !spec.Unmetered {
		p.sampler = startSampler(p.cmd.Process.Pid)
	}
	go p.reapProcess()
	return p, nil
}

func (p *Process) reapProcess() {
	err := p.cmd.Wait()
	p.wall = time.Since(p.started)
	if p.sampler != nil {
		p.sampler.stop()
	}
	if err != nil {
		p.err = fmt.Errorf("%s: %w: %s", p.name, err, p.output.lastLines(8))
	}
	close(p.done)
}

// Run starts spec and waits until it ends, or until ctx ends.
func Run(ctx context.Context, spec Spec) (Usage, error) {
	p, err := Start(spec)
	if err != nil {
		return Usage{}, err
	}
	select {
	case <-p.done:
		return p.Usage(), p.err
	case <-ctx.Done():
		return Usage{}, errors.Join(ctx.Err(), p.Stop())
	}
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Output returns the end of the program's output.
func (p *Process) Output() string { return p.output.lastLines(20) }

// Stop ends the program's whole group: it sends SIGTERM, then SIGKILL after a grace
// period. It returns the program's error unless that is the signal.
func (p *Process) Stop() error {
	group := -p.cmd.Process.Pid
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(group, syscall.SIGTERM) // the group may just have ended
		select {
		case <-p.done:
		case <-time.After(stopGrace):
			_ = syscall.Kill(group, syscall.SIGKILL)
			<-p.done
		}
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // children that outlived their parent
	var exit *exec.ExitError
	if errors.As(p.err, &exit) && !exit.Exited() {
		return nil
	}
	return p.err
}

// tailBytes is the number of bytes that are kept of a program's output.
const tailBytes = 64 << 10

// tail keeps the last bytes that are written to it.
type tail struct {
	mu struct {
		sync.Mutex
		data []byte
	}
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.data = append(t.mu.data, b...)
	if len(t.mu.data) > 2*tailBytes {
		t.mu.data = append([]byte(nil), t.mu.data[len(t.mu.data)-tailBytes:]...)
	}
	return len(b), nil
}

func (t *tail) lastLines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.mu.data)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
