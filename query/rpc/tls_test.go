package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestTLS opens a session, reads the state and sends a git read through TLS, and checks that a peer
// with a certificate of another authority, or for another host, and one without TLS are refused.
func TestTLS(t *testing.T) {
	shard := startShard(t, 0, func(o *ServerOptions) {
		o.State = func() (*State, error) { return &State{Program: "v1"}, nil }
	})
	git := startGit(t, &echoGit{})
	overTLS := func(p *Peer, s *Server) (*Peer, *x509.CertPool) {
		web := httptest.NewUnstartedServer(s)
		web.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes
		web.StartTLS()
		t.Cleanup(web.Close)
		pool := x509.NewCertPool()
		pool.AddCert(web.Certificate())
		return &Peer{Address: web.Listener.Addr().String(), Secret: p.Secret, Owned: p.Owned}, pool
	}
	shardPeer, pool := overTLS(shard.Peer, shard.server)
	gitPeer, _ := overTLS(git.Peer, git.server)
	trust := func(pool *x509.CertPool, host string) func() *tls.Config {
		return func() *tls.Config { return &tls.Config{RootCAs: pool, ServerName: host, MinVersion: tls.VersionTLS13} }
	}
	calls := map[string]func(change func(p *Peer)) error{
		"session": func(change func(p *Peer)) error {
			p := *shardPeer
			change(&p)
			s := p.NewSession([]byte("ann"))
			defer s.Close()
			r, err := s.Call(t.Context(), &search.ShardCall{Open: true})
			if err == nil && len(r.Open.Repositories) != 1 {
				t.Errorf("%+v, want a repository", r.Open)
			}
			return err
		},
		"state": func(change func(p *Peer)) error {
			p := *shardPeer
			change(&p)
			_, err := p.ReadState(t.Context())
			return err
		},
		"git": func(change func(p *Peer)) error {
			p := *gitPeer
			change(&p)
			_, err := RemoteGit{Call: p.CallGit}.Files(t.Context(), code.RepositoryID(7), "c", 10)
			return err
		},
	}
	for name, call := range calls {
		if err := call(func(p *Peer) { p.TLS = trust(pool, "127.0.0.1") }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(func(p *Peer) { p.TLS = trust(pool, "example.com") }); err != nil {
			t.Errorf("%s by the name of the setting: %v", name, err)
		}
		for _, x := range []struct {
			change func(p *Peer)
			want   string
		}{
			{func(p *Peer) { p.TLS = trust(x509.NewCertPool(), "127.0.0.1") }, "check peerTls.caFile"},
			{func(p *Peer) { p.TLS = trust(pool, "other.example") }, "the host in its address"},
			{func(p *Peer) { p.Address, p.TLS = git.Address, trust(pool, "127.0.0.1") }, "does not speak TLS"},
		} {
			err := call(x.change)
			if err == nil || !strings.Contains(err.Error(), x.want) || name != "state" && !errors.Is(err, search.ErrShardLost) {
				t.Errorf("%s: %v, want %q", name, err, x.want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	shardPeer.TLS = trust(pool, "127.0.0.1")
	if _, err := shardPeer.NewSession([]byte("ann")).Call(ctx, &search.ShardCall{Open: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has left: %v, want Canceled", err)
	}
}
