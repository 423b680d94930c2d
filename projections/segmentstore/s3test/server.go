package s3test

import (
	"bytes"
	"context"
	"errors"
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
	program := os.Getenv("QUARRY_VERSITYGW")
	if program == "" {
		program = "versitygw"
	}
	program, err := exec.LookPath(program)
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("S3: no versitygw; make s3 builds it, and QUARRY_VERSITYGW names it")
	}
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, program: program, address: listener.Addr().String(), Dir: t.TempDir(), sidecar: t.TempDir()}
	s.Endpoint = "http://" + s.address
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.Dir, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// Restart starts the server again after Stop, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.cmd = exec.Command(s.program, "--port", s.address, "--access", AccessKey, "--secret", SecretKey, "--region", Region, "--quiet",
		"--health", "/health", "posix", "--sidecar", s.sidecar, s.Dir)
	var output bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &output, &output
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hangDeadline)
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
			s.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			return
		}
		select {
		case <-exited:
			s.t.Fatalf("the S3 server ended: %s", output.String())
		case <-ctx.Done():
			s.t.Fatalf("the S3 server does not answer within %v: %v", hangDeadline, err)
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
