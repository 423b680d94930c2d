package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Credentials and names that every Server has.
const (
	AccessKey = "quarry-test"
	SecretKey = "a secret of the S3 tests"
	Bucket    = "quarry"
	Region    = "eu-test-1"
)

// ErrUnavailable means that the program of the server is not installed.
var ErrUnavailable = errors.New("no versitygw; make s3 builds it, and QUARRY_VERSITYGW names it")

// hangDeadline only ends a hang of a server that starts.
const hangDeadline = 5 * time.Minute

// Server is a running S3 server with one bucket.
type Server struct {
	// Endpoint is its URL, which stays the same after Restart.
	Endpoint string
	// Dir is the directory of its objects: Dir/BUCKET/KEY.
	Dir string

	t       testing.TB
	sidecar string // the directory of the metadata
	program string
	address string
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has ended
}

// Start starts a server with an empty bucket, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	Need(t)
	s, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.Stop)
	return s
}

// Need skips the test without the program of the server, or fails it if everything must run.
func Need(t testing.TB) {
	t.Helper()
	switch _, err := findProgram(); {
	case err != nil && os.Getenv("QUARRY_REQUIRE_ALL") == "1":
		t.Fatal(err)
	case err != nil:
		t.Skip("S3:", err)
	}
}

func findProgram() (string, error) {
	program := os.Getenv("QUARRY_VERSITYGW")
	if program == "" {
		program = "versitygw"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return path, nil
}

// Open starts a server with an empty bucket, whose data is in the directory dir. The caller
// stops it. The error wraps ErrUnavailable if the program is not installed.
func Open(ctx context.Context, dir string) (*Server, error) {
	program, err := findProgram()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{program: program, address: listener.Addr().String(), Dir: filepath.Join(dir, "objects"), sidecar: filepath.Join(dir, "metadata")}
	s.Endpoint = "http://" + s.address
	if err := errors.Join(listener.Close(), os.MkdirAll(filepath.Join(s.Dir, Bucket), 0o700), os.Mkdir(s.sidecar, 0o700)); err != nil {
		return nil, err
	}
	return s, s.Run(ctx)
}

// Settings are the settings of a process of Quarry whose segments are in a folder of the
// bucket.
func (s *Server) Settings(folder string) []string {
	return []string{
		"storage.segments=s3://" + Bucket + "/" + folder, "storage.s3.endpoint=" + s.Endpoint, "storage.s3.region=" + Region,
		"storage.s3.pathStyle=true", "storage.s3.accessKeyId=" + AccessKey, "storage.s3.secretAccessKey=" + SecretKey,
	}
}

// Restart is Run in the test of Start.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.Run(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// Run starts the server again after Stop, and waits until it answers.
func (s *Server) Run(ctx context.Context) error {
	s.cmd = exec.Command(s.program, "--port", s.address, "--access", AccessKey, "--secret", SecretKey, "--region", Region, "--quiet",
		"--health", "/health", "posix", "--sidecar", s.sidecar, s.Dir)
	var output bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &output, &output
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hangDeadline)
	defer cancel()
	cmd, exited := s.cmd, make(chan struct{})
	s.exited = exited
	go func() {
		defer close(exited)
		_ = cmd.Wait() // it is killed, or its output says why it ended
	}()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/health", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-exited:
			return fmt.Errorf("the S3 server ended: %s", output.String())
		case <-ctx.Done():
			return fmt.Errorf("the S3 server does not answer within %v: %w", hangDeadline, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop kills the server, if it is running.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.exited
	s.cmd = nil
}

// RemoveObjects removes the objects whose keys match a pattern of filepath.Match, as damage
// to the server would. It fails the test if there are none.
func (s *Server) RemoveObjects(pattern string) {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Dir, Bucket, pattern))
	if err != nil || len(paths) == 0 {
		s.t.Fatalf("%s: %d objects, %v", pattern, len(paths), err)
	}
	for _, path := range paths {
		key, err := filepath.Rel(s.Dir, path)
		if err == nil {
			err = errors.Join(os.Remove(path), os.RemoveAll(filepath.Join(s.sidecar, key)))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}
