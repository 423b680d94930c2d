package mirror

import (
	"context"
	"io"
	"os/exec"
	"sync"
)

// An Executor runs one git command to its end, in place of the git program. The
// simulation provides one, so that this package's handling of git's output and failures
// is tested without processes and without a host.
type Executor func(ctx context.Context, e Execution) error

// Execution is one command, as the git program would receive it. An Executor reads Stdin,
// writes Stdout and Stderr while it runs, and returns an error for every exit status
// except 0. When the command is killed, its streams and its context end.
type Execution struct {
	// Args are the arguments after the program name; the first is --git-dir=DIR.
	Args []string
	// Env is the complete environment.
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// process is a git command: the methods of exec.Cmd that this package uses, and Kill.
type process interface {
	StdinPipe() (io.WriteCloser, error)
	StdoutPipe() (io.ReadCloser, error)
	Start() error
	Wait() error
	Run() error
	Kill() error
}

// childProcess is an operating system process.
type childProcess struct{ *exec.Cmd }

// Kill implements process. It also kills the children of the process.
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
			_ = pipe.Close() // the other side can still read to the end
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

// pipeBytes is the capacity of a pipe, the same as on Linux. A Reader relies on it: it
// writes requests before it has read all answers.
const pipeBytes = 64 << 10

// pipe is an in-memory equivalent of an operating system pipe.
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

// Read implements io.Reader. Bytes written before the pipe was closed can still be read.
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
