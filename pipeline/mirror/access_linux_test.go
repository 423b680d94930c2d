package mirror

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// loopback is a policy for test hosts.
var loopback = Policy{Schemes: []string{"https", "http", "ssh"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// privateHost serves a repository over TLS to clients that send the current token. It
// echoes a token that it does not accept, as a hostile host would.
type privateHost struct {
	*httptest.Server
	token atomic.Pointer[string]
	// inspect is called while git waits for the objects.
	inspect atomic.Pointer[func()]
}

func newPrivateHost(t *testing.T, repo *gittest.Repository) *privateHost {
	h := &privateHost{}
	backend := gittest.HTTPHandler(t, filepath.Dir(repo.Dir))
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if want := h.token.Load(); user != "x-access-token" || want == nil || password != *want {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "no: "+r.Header.Get("Authorization")+"\nfor "+password+" is no "+user+"\n")
			return
		}
		if inspect := h.inspect.Load(); inspect != nil && strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			(*inspect)()
		}
		backend.ServeHTTP(w, r)
	}))
	h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(h.Close)
	return h
}

// writeAuthority writes the certificate of the server to a CA file.
func (h *privateHost) writeAuthority(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "ca.pem")
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func randomToken(t *testing.T) string {
	b := make([]byte, 20) // looks like an object name, as tokens of Gitea do
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// A token reaches only the environment of git's processes: no argument of any process, no
// file of the mirror, no error and no log line contains it. A new token takes effect
// without a restart.
func TestTokenStaysSecret(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "1")
	host := newPrivateHost(t, repo)
	first, second := randomToken(t), randomToken(t)
	host.token.Store(&first)
	access := Access{Username: "x-access-token", Password: first, CAFile: host.writeAuthority(t)}
	var logged syncBuffer
	dir := filepath.Join(t.TempDir(), "mirrors")
	ms, err := Open(t.Context(), Options{
		Dir: dir, Policy: loopback, Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Access: func(context.Context, code.Repository) (Access, error) { return access, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	seen := 0
	inspect := func() { seen += inspectProcesses(t, access) }
	host.inspect.Store(&inspect)
	r := repo.Code("private")
	r.CloneURL = host.URL + "/repository"
	if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if seen < 2 { // git and git-remote-https
		t.Errorf("%d processes of git were seen", seen)
	}
	// The host no longer accepts the token, and echoes it.
	host.token.Store(&second)
	repo.CommitFiles("a", "2")
	_, err = ms.Mirror(r.ID).Fetch(t.Context(), r)
	if !errors.Is(err, ErrUnauthorized) || !strings.Contains(err.Error(), "***") {
		t.Errorf("old token: %v, want ErrUnauthorized with what the host said", err)
	}
	checkSecret(t, "the error", err.Error(), access)
	access.Password = second
	if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); err != nil {
		t.Errorf("new token: %v", err)
	}
	checkSecret(t, "the log", logged.String(), access)
	checkFiles(t, dir, access, Access{Username: access.Username, Password: first})
}

// checkSecret fails the test if a text contains a secret in any form.
func checkSecret(t *testing.T, where, text string, a Access) {
	t.Helper()
	// Even the beginning must not appear: errors abbreviate object names.
	for _, secret := range append(a.secrets(), base64.StdEncoding.EncodeToString([]byte(a.Password)), a.Password[:8]) {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds a secret: %s", where, text)
		}
	}
}

func checkFiles(t *testing.T, dir string, secrets ...Access) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, a := range secrets {
			checkSecret(t, path, string(b), a)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// inspectProcesses inspects all processes of the machine, and returns how many of them
// have the secret in their environment. All of these must be children of this process.
func inspectProcesses(t *testing.T, a Access) (holders int) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Errorf("no processes: %v", err)
	}
	for _, dir := range dirs {
		arguments, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue // the process has ended
		}
		checkSecret(t, dir+"/cmdline", string(arguments), a)
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if !bytes.Contains(environment, []byte(a.basicToken())) {
			continue
		}
		holders++
		if !isDescendant(filepath.Base(dir)) || !bytes.Contains(arguments, []byte("git")) {
			t.Errorf("%s has the secret: %q", dir, arguments)
		}
	}
	return holders
}

// isDescendant reports whether a process is a descendant of this one.
func isDescendant(pid string) bool {
	for range 10 {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return false
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if pid = fields[1]; pid == strconv.Itoa(os.Getpid()) {
			return true
		}
	}
	return false
}

// Without the authority of the host, nothing is fetched and no credential is sent.
func TestUnknownAuthority(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "1")
	host := newPrivateHost(t, repo)
	token := randomToken(t)
	host.token.Store(&token)
	ms, err := Open(t.Context(), Options{
		Dir: filepath.Join(t.TempDir(), "mirrors"), Policy: loopback,
		Access: func(context.Context, code.Repository) (Access, error) {
			return Access{Username: "x-access-token", Password: token}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	r := repo.Code("tls")
	r.CloneURL = host.URL + "/repository"
	if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: %v, want ErrUnreachable that says certificate", err)
	}
}

// git uses the proxy of a connection, which requires a password and resolves the name.
// The password is as secret as a token.
func TestProxy(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "1")
	host := newPrivateHost(t, repo)
	token, password := randomToken(t), randomToken(t)
	host.token.Store(&token)
	var connects atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, got, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		if r.Method != http.MethodConnect || r.Header.Get("Authorization") != "" {
			t.Errorf("the proxy got %s with %d credentials of the host", r.Method, len(r.Header["Authorization"]))
		}
		if user != "gate" || got != password {
			w.Header().Set("Proxy-Authenticate", "Basic realm=x")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		connects.Add(1)
		tunnel(w, host.Listener.Addr().String())
	}))
	defer proxy.Close()
	access := Access{
		Username: "x-access-token", Password: token, CAFile: host.writeAuthority(t),
		Proxy: "http://gate:" + password + "@" + proxy.Listener.Addr().String(),
	}
	dir := filepath.Join(t.TempDir(), "mirrors")
	policy := Policy{Schemes: []string{"https"}, Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return nil, errors.New("the name is resolved by the proxy alone")
	}}
	ms, err := Open(t.Context(), Options{Dir: dir, Policy: policy, Access: func(context.Context, code.Repository) (Access, error) { return access, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	r := repo.Code("proxied")
	r.CloneURL = "https://example.com/repository" // a name in the certificate
	state, err := ms.Mirror(r.ID).Fetch(t.Context(), r)
	if err != nil || state.Revisions[0].Commit != commit || connects.Load() == 0 {
		t.Fatalf("%+v after %d connections, %v", state, connects.Load(), err)
	}
	access.Proxy = strings.Replace(access.Proxy, password, "0123456789abcdef0123456789abcdef01234567", 1)
	_, err = ms.Mirror(r.ID).Fetch(t.Context(), r)
	if err == nil {
		t.Fatal("the proxy lets in whoever has a wrong password")
	}
	checkSecret(t, "the error", err.Error(), access)
	checkFiles(t, dir, access, Access{Password: password})
}

// tunnel connects a client of the proxy to an address.
func tunnel(w http.ResponseWriter, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	from, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	go func() {
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}()
}

// syncBuffer is a buffer that is safe for concurrent use.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
