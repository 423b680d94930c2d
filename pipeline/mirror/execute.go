package mirror

import (
	"context"
	"io"
	"os/exec"
	"sync"
)

// An Executor runs one git command to its end instead of the git program. The
// simulation has one; so what this package does with git's answers, and with git's
// failures, is tested without processes and without a host.
type Executor func(ctx context.Context, e Execution) error

// Execution is one command as the git program would get it. An Executor reads Stdin,
// writes Stdout and Stderr while it runs, and returns an error for every exit status
// but 0. The streams end when the command is killed; its context ends then, too.
type Execution struct {
	// Args are those after the name of the program; the first is --git-dir=DIR.
	Args []string
	// Env is the whole environment.
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// process is a git command, as this package uses it: those methods of exec.Cmd, and
// Kill.
type process interface {
	StdinPipe() (io.WriteCloser, error)
	StdoutPipe() (io.ReadCloser, error)
	Start() error
	Wait() error
	Run() error
	Kill() error
}

// childProcess is a process of the operating system.
type childProcess struct{ *exec.Cmd }

// Kill implements process. What the process started dies with it.
func (p childProcess) Kill() error { return killGroup(p.Cmd) }

// executedProcess is a command that an Executor runs on a goroutine.
type executedProcess struct {
	ctx     context.Context
	kill    context.CancelFunc
	execute Executor
	e       Execution
	pipes   []*pipe
	ended   chan error
}

func newExecutedProcess(ctx context.Context, execute Executor, e Execution) *executedProcess {
	ctx, kill := context.WithCancel(ctx)
	return &executedProcess{ctx: ctx, kill: kill, execute: execute, e: e, ended: make(chan error, 1)}
}

// StdinPipe implements process.
func (p *executedProcess) StdinPipe() (io.WriteCloser, error) {
	in := newPipe()
	p.e.Stdin, p.pipes = in, append(p.pipes, in)
	return in, nil
}

// StdoutPipe implements process.
func (p *executedProcess) StdoutPipe() (io.ReadCloser, error) {
	out := newPipe()
	p.e.Stdout, p.pipes = out, append(p.pipes, out)
	return out, nil
}

// Start implements process.
func (p *executedProcess) Start() error {
	go func() {
		err := p.execute(p.ctx, p.e)
		for _, pipe := range p.pipes {
			_ = pipe.Close() // the other side reads to the end
		}
		p.ended <- err
	}()
	return nil
}

// Wait implements process.
func (p *executedProcess) Wait() error {
	defer p.kill()
	return <-p.ended
}

// Run implements process.
func (p *executedProcess) Run() error {
	if err := p.Start(); err != nil {
		return err
	}
	return p.Wait()
}

// Kill implements process.
func (p *executedProcess) Kill() error {
	p.kill()
	for _, pipe := range p.pipes {
		_ = pipe.Close()
	}
	return nil
}

// pipeBytes is what a pipe holds, as one of Linux does: a Reader relies on it, which
// writes requests while the answers to others wait.
const pipeBytes = 64 << 10

// pipe is a pipe of the operating system in memory.
type pipe struct {
	mu struct {
		sync.Mutex
		changed *sync.Cond
		held    []byte
		closed  bool
	}
}

func newPipe() *pipe {
	p := &pipe{}
	p.mu.changed = sync.NewCond(&p.mu)
	return p
}

// Write implements io.Writer. It fails once the pipe is closed.
func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n < len(b) {
		for len(p.mu.held) == pipeBytes && !p.mu.closed {
			p.mu.changed.Wait()
		}
		if p.mu.closed {
			return n, io.ErrClosedPipe
		}
		taken := min(len(b)-n, pipeBytes-len(p.mu.held))
		p.mu.held = append(p.mu.held, b[n:n+taken]...)
		n += taken
		p.mu.changed.Broadcast()
	}
	return n, nil
}

// Read implements io.Reader. What was written before the pipe was closed is read.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.mu.held) == 0 && !p.mu.closed {
		p.mu.changed.Wait()
	}
	if len(p.mu.held) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.mu.held)
	p.mu.held = append(p.mu.held[:0], p.mu.held[n:]...)
	p.mu.changed.Broadcast()
	return n, nil
}

// Close implements io.Closer.
func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = true
	p.mu.changed.Broadcast()
	return nil
}
