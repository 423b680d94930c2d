package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// gitRequest is a request that needs a mirror, with its status.
type gitRequest struct {
	request
	status int
}

// gitRequests returns requests about a repository. old is a commit that is not indexed.
func gitRequests(name, old string) (requests []gitRequest) {
	add := func(status int, format string, args ...any) {
		requests = append(requests, gitRequest{request{method: http.MethodGet, path: fmt.Sprintf(format, args...) + "&repo=" + name}, status})
	}
	add(http.StatusOK, "/api/blame?path=first.txt")
	add(http.StatusOK, "/api/blame?path=first.txt&ref=%s", old)
	add(http.StatusOK, "/api/commits?perPage=2")
	add(http.StatusOK, "/api/commits?path=first.txt&perPage=1")
	add(http.StatusOK, "/api/commits?query=nothing")
	add(http.StatusOK, "/api/commits/authors?ref=%s", old)
	add(http.StatusOK, "/api/commit?ref=%s", old)
	add(http.StatusOK, "/api/commit?ref=%s", old[:10])
	add(http.StatusOK, "/api/commit?ref=HEAD")
	add(http.StatusOK, "/api/diff?base=HEAD~1&head=main")
	add(http.StatusOK, "/api/diff?base=main&head=main")
	add(http.StatusOK, "/api/source?path=first.txt&ref=%s", old)
	add(http.StatusOK, "/api/folder_contents?path=&revisionName=%s&repoName=%s", old, name)
	add(http.StatusNotFound, "/api/source?path=no/such&ref=%s", old)
	add(http.StatusNotFound, "/api/blame?path=no/such")
	add(http.StatusNotFound, "/api/commit?ref=%s", strings.Repeat("1", 40))
	add(http.StatusBadRequest, "/api/commits?ref=no-such-branch")
	add(http.StatusBadRequest, "/api/commits?query=%s", `a%5C%7B3%5C%7D`)
	for _, path := range []string{"/api/tree", "/api/files"} {
		body := map[string]any{"repoName": name, "revisionName": "HEAD~1", "paths": []string{""}}
		requests = append(requests, gitRequest{request{http.MethodPost, path, body}, http.StatusOK})
	}
	return requests
}

// writePeerCertificate writes the certificate of all processes of a cluster, which is its own
// authority, and its key.
func writePeerCertificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "peer.pem"), filepath.Join(dir, "peer.key")
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return certFile, keyFile
}

// checkGit compares what needs a mirror between a process with mirrors and the role query, which
// takes the place of the worker, and a query node and the front, which have none. Then it kills that
// process while requests are sent, and another worker takes over.
func (c *shardCluster) checkGit(t *testing.T) {
	must(t, c.pipeline.stop())
	c.pipeline = c.startNode("pipeline", "pipeline,query")
	readHistory := func(s *server, name string) int { // which is not cached
		status, _ := send(t, s, http.MethodGet, "/api/commits?perPage=1&repo="+name, nil)
		return status
	}
	for _, s := range []*server{c.pipeline, c.front} {
		if !pollUntil(func() bool {
			return !slices.ContainsFunc(c.repositories, func(name string) bool { return readHistory(s, name) != http.StatusOK })
		}) {
			t.Fatalf("there is no history of all repositories:\n%s\n%s", s.output.String(), c.pipeline.output.String())
		}
	}
	ask := func(s *server, r request) (int, string) {
		status, answer := send(t, s, r.method, r.path, r.body)
		return status, strings.ReplaceAll(mustJSON(t, answer), s.url, "URL")
	}
	requests := gitRequests("demo", commitOf(c.tree, "HEAD~1"))
	for _, r := range requests {
		wantStatus, want := ask(c.pipeline, r.request)
		for _, s := range []*server{c.whole, c.front} {
			if status, got := ask(s, r.request); status != wantStatus || status != r.status || got != want {
				t.Errorf("%s %s:\n%d %s\nwant %d as\n%d %s", r.method, r.path, status, got, r.status, wantStatus, want)
			}
		}
	}

	worker := c.startWith("worker", "roles=pipeline", "git.listen="+c.gitPeers[1])
	done := make(chan struct{})
	var reads sync.WaitGroup
	for i := range 2 {
		reads.Go(func() {
			for n := i; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				name := c.repositories[n%len(c.repositories)]
				if status := readHistory(c.front, name); status != http.StatusOK && status != http.StatusServiceUnavailable {
					t.Errorf("history of %s while a worker is killed: %d", name, status)
				}
			}
		})
	}
	c.pipeline.killProcess()
	c.pipeline = worker
	if !pollUntil(func() bool {
		return !slices.ContainsFunc(c.repositories, func(name string) bool { return readHistory(c.front, name) != http.StatusOK })
	}) {
		t.Errorf("the other worker does not take over:\n%s\n%s", c.front.output.String(), worker.output.String())
	}
	close(done)
	reads.Wait()
	for _, r := range requests {
		if status, got := ask(c.front, r.request); status != r.status {
			t.Errorf("%s %s after a worker was killed: %d %s, want %d", r.method, r.path, status, got, r.status)
		}
	}
}
