package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/schemas/clock"
)

const (
	// hangDeadline only ends a hang: it bounds each wait for a state that must come about,
	// and no busy machine is a failure.
	hangDeadline = 5 * time.Minute
	// A poll pauses for a share of the time that has passed, within these bounds: most polls
	// start processes or read all metrics, which must not take the processor that the awaited
	// state needs.
	minPollInterval = 20 * time.Millisecond
	maxPollInterval = 500 * time.Millisecond
	pollShare       = 5
)

// pollUntil calls done until it returns true. It returns false after hangDeadline.
func pollUntil(done func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), hangDeadline)
	defer cancel()
	for began := time.Now(); !done(); {
		if clock.Sleep(ctx, min(max(time.Since(began)/pollShare, minPollInterval), maxPollInterval)) != nil {
			return false
		}
	}
	return true
}

// operators holds the operator's client for each started server, by address.
var operators sync.Map // of *http.Client

// clientOf returns the client that authenticates as the operator of the server at an
// address.
func clientOf(address string) *http.Client {
	if c, ok := operators.Load(address); ok {
		return c.(*http.Client)
	}
	return http.DefaultClient
}

// server is a running quarry serve.
type server struct {
	url string
	// metricsURL is the address of the operators' listener.
	metricsURL string
	data       string // its data directory
	cmd        *exec.Cmd
	output     *buffer
	exited     chan struct{} // closed when the process has ended
}

// buffer collects the output of a process. It is safe for concurrent use.
type buffer struct {
	mu struct {
		sync.Mutex
		b bytes.Buffer
	}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.b.String()
}

// startServer starts quarry serve and waits until it is ready.
func startServer(dir string, environ []string, args ...string) (*server, error) {
	address, err := loopback.FreeAddress()
	if err != nil {
		return nil, err
	}
	return startServerAt(address, dir, environ, args...)
}

// startServerAt is startServer at a given address, such as that of a stopped server.
func startServerAt(address, dir string, environ []string, args ...string) (*server, error) {
	return startProgram([]string{"quarry"}, address, dir, environ, args...)
}

// startProgram is startServerAt with a program, and its first arguments, that executes
// quarry. Like a supervisor, it starts the server again if it ended because brokers on a
// busy machine did not answer in time, or because another process has taken the port that
// was free for the metrics.
func startProgram(program []string, address, dir string, environ []string, args ...string) (*server, error) {
	for began := time.Now(); ; {
		s, err := launchProgram(program, address, dir, environ, args...)
		if err != nil {
			return nil, err
		}
		ready := pollUntil(func() bool { return s.hasExited() || s.getStatus("/readyz") == http.StatusOK })
		if ready && !s.hasExited() {
			return s, nil
		}
		again := s.hasExited() && endedByChance.MatchString(s.output.String()) && time.Since(began) < hangDeadline
		s.killProcess()
		if !again {
			return nil, fmt.Errorf("quarry serve did not become ready: %s", s.output)
		}
	}
}

// endedByChance matches the last line of a server whose log did not answer in time, or
// whose port for the metrics was taken.
var endedByChance = regexp.MustCompile(`(?m)^quarry: serve: .*(context deadline exceeded|address already in use; choose another address with metricsListen).*$`)

// launchServer starts quarry serve at an address without waiting until it is ready.
func launchServer(address, dir string, environ []string, args ...string) (*server, error) {
	return launchProgram([]string{"quarry"}, address, dir, environ, args...)
}

// launchProgram is launchServer with a program, and its first arguments, that executes
// quarry.
func launchProgram(program []string, address, dir string, environ []string, args ...string) (*server, error) {
	data := args[slices.Index(args, "--data")+1]
	operators.Store(address, operator.Client(data))
	metrics, err := loopback.FreeAddress()
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + address, metricsURL: "http://" + metrics, data: data, output: new(buffer), exited: make(chan struct{})}
	s.cmd = exec.Command(program[0], slices.Concat(program[1:], []string{"serve", "--listen", address, "--metrics-listen", metrics}, args)...)
	s.cmd.Dir, s.cmd.Env = dir, environ
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait() // ProcessState contains the result
		close(s.exited)
	}()
	return s, nil
}

func (s *server) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// getStatus returns the status of a GET request, or 0 if there is no response.
func (s *server) getStatus(path string) int {
	response, err := http.Get(s.url + path)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// stop stops the server and expects exit code 0.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
	case <-time.After(hangDeadline):
		s.killProcess()
		return fmt.Errorf("quarry serve did not end within %v of SIGTERM: %s", hangDeadline, s.output)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("quarry serve ended with code %d after SIGTERM: %s", code, s.output)
	}
	return nil
}

// killProcess kills the server like kill -9.
func (s *server) killProcess() {
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.exited
}
