package testserver

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/client"
)

// Server is a running server without users.
type Server struct {
	URL        string
	Data       string // its data directory
	SetupToken string // token that creates the first owner
	// OperatorToken authenticates a caller as the operator.
	OperatorToken string
}

const (
	// startTimeout only ends a hang: it bounds the wait for the server's address, and the
	// wait for its accounts.
	startTimeout = 5 * time.Minute
	// pollInterval is the interval at which the server is polled until it is ready.
	pollInterval = 20 * time.Millisecond
)

var servingPattern = regexp.MustCompile(`msg=serving url=(\S+)`)

// Start runs binary with its data in a temporary directory. Repositories below root can
// be indexed. Rates are not limited. The server stops when the test ends.
func Start(t testing.TB, binary, root string, args ...string) *Server {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	command := exec.Command(binary, append([]string{
		"serve", "--data", data, "--listen", "127.0.0.1:0", "--git-root", root, "--set", "git.allowedProtocols=file",
		"--set", "limits.perSecond=100000", "--set", "limits.burst=100000", "--set", "limits.anonymousPerSecond=100000", "--set", "limits.anonymousBurst=100000",
	}, args...)...)
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(log); s.Scan(); {
			select {
			case lines <- s.Text():
			default: // Start has returned
			}
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	s := waitForAddress(t, data, lines)
	waitUntilReady(t, s.URL)
	return s
}

// waitForAddress reads the log until it contains the address and reports the link for the
// first owner.
func waitForAddress(t testing.TB, data string, lines <-chan string) *Server {
	t.Helper()
	s := &Server{Data: data}
	var log []string
	for late := time.After(startTimeout); s.URL == "" || s.SetupToken == ""; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the server ended: %q", log)
			}
			log = append(log, line)
			if m := servingPattern.FindStringSubmatch(line); m != nil {
				s.URL = m[1]
			}
			if strings.Contains(line, "no owner yet") {
				_, s.SetupToken, _ = strings.Cut(operator.SetupLink(data), "?token=")
				s.OperatorToken = operator.Token(data)
			}
		case <-late:
			t.Fatalf("the server has logged no address after %v: %q", startTimeout, log)
		}
	}
	return s
}

// waitUntilReady returns once the server has read its accounts and answers requests.
func waitUntilReady(t testing.TB, url string) {
	t.Helper()
	c, err := client.New(url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(startTimeout); ; time.Sleep(pollInterval) {
		_, err := c.GetReadiness(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("the server is not ready after %v: %v", startTimeout, err)
		}
	}
}

func runCommand(t testing.TB, command *exec.Cmd) {
	t.Helper()
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, said)
	}
}
