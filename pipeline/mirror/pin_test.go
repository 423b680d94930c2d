package mirror

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
)

// git connects to the address that the policy resolved and checked, over http and its own
// protocol; the names exist only in the policy's resolver. When the resolver returns
// another address, that one is checked too.
func TestAddressesArePinned(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "1")
	web := httptest.NewServer(gittest.HTTPHandler(t, filepath.Dir(repo.Dir)))
	defer web.Close()
	_, webPort, _ := net.SplitHostPort(web.Listener.Addr().String())
	var inner atomic.Bool
	ms, err := Open(t.Context(), Options{
		Dir: filepath.Join(t.TempDir(), "mirrors"),
		Policy: Policy{
			Schemes: []string{"http", "git"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
			Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
				if host != "pinned.invalid" {
					return nil, errors.New("unknown host")
				}
				if inner.Load() {
					return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
				}
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	for scheme, port := range map[string]string{"http": webPort, "git": serveGitDaemon(t, filepath.Dir(repo.Dir))} {
		inner.Store(false)
		r := repo.Code("pinned-" + scheme)
		r.CloneURL = scheme + "://pinned.invalid:" + port + "/repository"
		state, err := ms.Mirror(r.ID).Fetch(t.Context(), r)
		if err != nil || len(state.Revisions) != 1 || state.Revisions[0].Commit != commit {
			t.Errorf("%s: %+v, %v", scheme, state, err)
		}
		inner.Store(true)
		if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "127.0.0.2") {
			t.Errorf("%s: a rebound name: %v, want a refusal", scheme, err)
		}
	}
}

// serveGitDaemon serves the repositories below a directory and returns the port.
func serveGitDaemon(t *testing.T, base string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	daemon := exec.Command("git", "daemon", "--listen=127.0.0.1", "--port="+strconv.Itoa(port), "--export-all", "--base-path="+base, base)
	daemon.Stderr = io.Discard
	ownGroup(daemon)
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = killGroup(daemon)
		_ = daemon.Wait()
	})
	clocktest.WaitUntil(t, "git daemon to listen", func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return strconv.Itoa(port)
}

// A host name cannot escape its word in the command that git runs for ssh.
func TestSSHOptions(t *testing.T) {
	s := source{scheme: "ssh", host: "h';id;'", port: "2222", addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
	out, err := exec.Command("sh", "-c", "printf '%s\\n'"+s.sshOptions()).Output()
	if want := "-oHostName=192.0.2.1\n-oHostKeyAlias=[h';id;']:2222\n-oCheckHostIP=no\n"; err != nil || string(out) != want {
		t.Errorf("the shell reads %q, %v; want %q", out, err, want)
	}
}
