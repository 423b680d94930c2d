package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
)

// hangDeadline only ends a hang of a process that starts or stops; no busy machine is a
// failure.
const hangDeadline = 5 * time.Minute

// These are the errors of a process.
var (
	// ErrNotReady means that a process ended, or hung, before it was ready.
	ErrNotReady = errors.New("did not become ready")
	// ErrEnded means that a process ended without being stopped.
	ErrEnded = errors.New("ended by itself")
	// ErrStop means that a process did not end properly after SIGTERM.
	ErrStop = errors.New("did not stop")
)

// Member is one process of a fleet.
type Member struct {
	Name string
	// Role contains the roles as on the command line; empty means all.
	Role string
	// Data is its data directory.
	Data string

	settings []string // in addition to those of the fleet
	launched []string // in addition, of the last start
	isShard  bool
	fleet    *Fleet
	cmd      *exec.Cmd
	exited   chan struct{} // closed when the process has ended
	again    int           // starts because brokers did not answer
	from     int64         // offset of its output in the log file
	mu       struct {
		sync.Mutex
		url, metricsURL string
	}
}

// URL returns the address of the process, which changes with each start.
func (m *Member) URL() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.url
}

// MetricsURL returns the address of the operators' listener, which changes with each
// start.
func (m *Member) MetricsURL() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.metricsURL
}

// Running reports whether the process is running.
func (m *Member) Running() bool {
	if m.cmd == nil {
		return false
	}
	select {
	case <-m.exited:
		return false
	default:
		return true
	}
}

// SaveHeap writes a heap profile of the process next to its log, as NAME.heap.
func (m *Member) SaveHeap(ctx context.Context) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.MetricsURL()+"/debug/pprof/heap", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	f, err := os.Create(filepath.Join(m.fleet.dir, m.Name+".heap"))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, response.Body)
	return errors.Join(err, f.Close())
}

func (m *Member) logPath() string { return filepath.Join(m.fleet.dir, m.Name+".log") }

// commandArguments returns the arguments of serve or replay with the settings.
func (m *Member) commandArguments(command ...string) []string {
	args := append(command, "--config", m.fleet.config, "--data", m.Data)
	for _, s := range slices.Concat(m.fleet.settings, m.settings) {
		args = append(args, "--set", s)
	}
	return args
}

// Launch starts the process, with additional settings of the form key=value, without
// waiting until it is ready.
func (m *Member) Launch(settings ...string) error {
	address, err := loopback.FreeAddress()
	if err != nil {
		return err
	}
	metrics, err := loopback.FreeAddress()
	if err != nil {
		return err
	}
	output, err := os.OpenFile(m.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	if m.from, err = output.Seek(0, 2); err != nil {
		return err
	}
	args := m.commandArguments("serve", "--listen", address, "--metrics-listen", metrics)
	if m.Role != "" {
		args = append(args, "--role", m.Role)
	}
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	m.launched = settings
	cmd := exec.Command(m.fleet.o.Quarry, args...)
	cmd.Env = append(os.Environ(), "QUARRY_CHAOS_CLOCK="+m.fleet.clock)
	cmd.Stdout, cmd.Stderr = output, output
	// Use a separate process group, so that an interrupt of this program does not end the
	// process.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", m.Name, err)
	}
	exited := make(chan struct{})
	m.cmd, m.exited = cmd, exited
	go func() {
		_ = cmd.Wait() // ProcessState contains the result
		close(exited)
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.url, m.mu.metricsURL = "http://"+address, "http://"+metrics
	return nil
}

// maxStartsAgain bounds how often a start is repeated.
const maxStartsAgain = 5

// Ready waits until the process is ready. It starts a process again that ended because brokers
// did not answer while it started, as a supervisor does.
func (m *Member) Ready(ctx context.Context) error {
	for range maxStartsAgain {
		err := m.awaitReady(ctx)
		if err == nil || m.Running() || m.cmd.ProcessState.ExitCode() != 1 || !m.SaysSince(kafkalog.ErrNoAnswer.Error()) || ctx.Err() != nil {
			return err
		}
		m.again++
		m.fleet.o.Log("%s is started again: brokers did not answer in time", m.Name)
		if err := m.Launch(m.launched...); err != nil {
			return err
		}
	}
	return m.awaitReady(ctx)
}

func (m *Member) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hangDeadline)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if m.getStatus(ctx, "/readyz") == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w within %v: %s", m.Name, ErrNotReady, hangDeadline, m.Said())
		case <-m.exited:
			return fmt.Errorf("%s: %w, it ended with code %d: %s", m.Name, ErrNotReady, m.cmd.ProcessState.ExitCode(), m.Said())
		case <-tick.C:
		}
	}
}

func (m *Member) getStatus(ctx context.Context, path string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL()+path, nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// Start is Launch and Ready.
func (m *Member) Start(ctx context.Context, settings ...string) error {
	if err := m.Launch(settings...); err != nil {
		return err
	}
	return m.Ready(ctx)
}

// Kill kills the process like kill -9, if it is running. Its child processes, such as
// git, continue, as they would in production.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill() // it may have ended already
	<-m.exited
}

// Freeze stops the process from running, and Thaw lets it go on.
func (m *Member) Freeze() error { return m.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw is documented with Freeze.
func (m *Member) Thaw() error { return m.cmd.Process.Signal(syscall.SIGCONT) }

// Stop ends the process and expects exit code 0.
func (m *Member) Stop() error {
	if m.cmd == nil {
		return nil
	}
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-m.exited:
	case <-time.After(hangDeadline):
		m.Kill()
		return fmt.Errorf("%s: %w within %v of SIGTERM: %s", m.Name, ErrStop, hangDeadline, m.Said())
	}
	if code := m.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s: %w: code %d after SIGTERM: %s", m.Name, ErrStop, code, m.Said())
	}
	return nil
}

// saidBytes is the number of bytes of the output that are shown.
const saidBytes = 6 << 10

// Said returns the end of the process's output since its last start.
func (m *Member) Said() string {
	b, err := os.ReadFile(m.logPath())
	if err != nil {
		return err.Error()
	}
	b = b[min(m.from, int64(len(b))):]
	return string(b[max(0, len(b)-saidBytes):])
}

// SaysSince reports whether the process has printed words since its last start.
func (m *Member) SaysSince(words string) bool {
	b, err := os.ReadFile(m.logPath())
	return err == nil && bytes.Contains(b[min(m.from, int64(len(b))):], []byte(words))
}

// IsReady reports whether the process is ready.
func (m *Member) IsReady(ctx context.Context) bool {
	return m.Running() && m.getStatus(ctx, "/readyz") == http.StatusOK
}

// Replay runs quarry replay with additional arguments on the data of the process, which
// must not be running, and returns its output.
func (m *Member) Replay(ctx context.Context, more ...string) (string, error) {
	cmd := exec.CommandContext(ctx, m.fleet.o.Quarry, append(m.commandArguments("replay"), more...)...)
	cmd.Env = append(os.Environ(), "QUARRY_CHAOS_CLOCK="+m.fleet.clock)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("quarry replay %v of %s: %w: %s", more, m.Name, err, out[max(0, len(out)-saidBytes):])
	}
	return string(out), nil
}
