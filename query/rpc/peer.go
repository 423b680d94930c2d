package rpc

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// dialTimeout bounds the time to reach a shard, with the upgrade.
const dialTimeout = 2 * time.Second

// Peer is a shard as a front knows it. Its fields are set before use.
type Peer struct {
	// Address is host:port of its Server.
	Address string
	// Secret is shared by all peers, at least MinSecretBytes.
	Secret []byte
	// TLS returns the configuration of a connection, or nil for one that is not encrypted.
	// Default: connections are not encrypted.
	TLS func() *tls.Config
	// Owned are the partitions that it must own, ascending.
	Owned []int32
	// Now is the clock of handshakes. Default: time.Now.
	Now func() time.Time
}

// NewSession returns a session with the view of a caller. Its first call connects.
func (p *Peer) NewSession(caller []byte) search.Shard {
	return &session{peer: p, path: sessionPath, caller: caller}
}

// session is a connection to a shard.
type session struct {
	peer   *Peer
	path   string
	caller []byte
	conn   net.Conn // nil until the first call
	codec  *codec
	failed error // why the session cannot be used any more
}

var _ search.Shard = (*session)(nil)

// Partitions implements search.Shard.
func (s *session) Partitions() []int32 { return s.peer.Owned }

// Close implements search.Shard.
func (s *session) Close() {
	if s.conn != nil {
		_ = s.conn.Close() // nothing is left to send
	}
	s.failed = errors.New("the session is closed")
}

// Call implements search.Shard.
func (s *session) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	in, err := s.exchange(ctx, &call{Call: c})
	if err != nil {
		return nil, err
	}
	return in.Reply, in.failureError()
}

// exchange sends a call, whose bound on the time it sets, and returns the reply.
func (s *session) exchange(ctx context.Context, out *call) (in *reply, err error) {
	ctx, span := tracing.StartClient(ctx, "shard "+out.stepName())
	out.Trace = tracing.Parent(ctx)
	defer func() {
		if err == nil {
			span.End(in.failureError())
		} else {
			span.End(err)
		}
	}()
	if s.failed == nil && s.conn == nil {
		s.failed = s.openConnection(ctx)
	}
	if s.failed != nil {
		return nil, s.lossError(ctx, s.failed)
	}
	if err := s.conn.SetDeadline(time.Time{}); err != nil {
		s.failed = err
		return nil, s.lossError(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // it may still change the deadline
			s.failed = cmp.Or(s.failed, ctx.Err())
		}
	}()
	if end, ok := ctx.Deadline(); ok {
		out.Within = max(time.Until(end), 1)
	}
	in = &reply{}
	var message any = out
	if out.Git != nil {
		message = &gitCall{out.Git, out.Within, out.Trace}
	}
	if err = s.codec.sendMessage(message); err == nil {
		err = s.codec.receiveMessage(in)
	}
	if err != nil {
		s.failed = err
		_ = s.conn.Close() // the shard gives the call up
		return nil, s.lossError(ctx, err)
	}
	return in, nil
}

// lossError returns the error of a session that failed: that of ctx if the caller ended it.
func (s *session) lossError(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), search.ErrShardLost) {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s with partitions %s: %w", search.ErrShardLost, s.peer.Address, formatPartitions(s.peer.Owned), err)
}

// openConnection opens the connection.
func (s *session) openConnection(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.peer.Address)
	if err != nil {
		return err
	}
	if config := s.peer.tlsConfig(); config != nil {
		encrypted := tls.Client(conn, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return errors.Join(explainTLS(err), conn.Close())
		}
		conn = encrypted
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	in := bufio.NewReader(conn)
	if err := s.upgradeConnection(conn, in); err != nil {
		return errors.Join(err, conn.Close())
	}
	s.conn, s.codec = conn, newCodec(conn, in)
	return nil
}

func (p *Peer) tlsConfig() *tls.Config {
	if p.TLS == nil {
		return nil
	}
	return p.TLS()
}

// explainTLS adds what to do to the error of a handshake.
func explainTLS(err error) error {
	var plain tls.RecordHeaderError
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &plain) || errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the peer does not speak TLS: set its peerTls.certFile, or leave out peerTls.caFile here: %w", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of the peer is refused: check peerTls.caFile, and the host in its address: %w", err)
	}
	return err
}

// upgradeConnection turns a new connection into a session.
func (s *session) upgradeConnection(conn net.Conn, in *bufio.Reader) error {
	r, err := s.peer.newRequest(s.path, s.caller)
	if err != nil {
		return err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	if err := r.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(in, r)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return errors.Join(readRefusal(response.Body), response.Body.Close())
	}
	return s.peer.checkPartitions(response)
}

// newRequest returns a signed request for a path.
func (p *Peer) newRequest(path string, caller []byte) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+p.Address+path, nil)
	if err != nil {
		return nil, err
	}
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	h := handshake{Version, now(), caller}
	r.Header.Set(headerHandshake, h.signHeader(path, p.Secret))
	return r, nil
}

// checkPartitions returns an error unless the shard owns what it must own.
func (p *Peer) checkPartitions(response *http.Response) error {
	if owned := response.Header.Get(headerPartitions); owned != formatPartitions(p.Owned) {
		return fmt.Errorf("the shard has partitions %.200q, and this front wants %.200q of it: make its shard.share and shard.peers agree", owned, formatPartitions(p.Owned))
	}
	return nil
}

// State describes a shard.
type State struct {
	// Program is the version of its program.
	Program string
	// Next is the next offset of each partition, in order, and Age that of
	// projections.Coverage.
	Next []int64
	Age  time.Duration
	// Settings is a digest of the settings that decide what callers see; empty if unknown.
	Settings string
}

// maxStateBytes bounds an encoded State.
const maxStateBytes = 256 << 10

// ReadState returns the state of the shard, or the reason why it opens no sessions.
func (p *Peer) ReadState(ctx context.Context) (*State, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	r, err := p.newRequest(statePath, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: p.tlsConfig()}
	if transport.TLSClientConfig != nil {
		r.URL.Scheme = "https"
	}
	response, err := (&http.Client{Transport: transport}).Do(r.WithContext(ctx))
	if err != nil {
		return nil, explainTLS(err)
	}
	defer func() { _ = response.Body.Close() }() // it is read
	body := io.LimitReader(response.Body, maxStateBytes)
	if response.StatusCode != http.StatusOK {
		return nil, readRefusal(body)
	}
	if err := p.checkPartitions(response); err != nil {
		return nil, err
	}
	state := &State{}
	if err := json.NewDecoder(body).Decode(state); err != nil {
		return nil, fmt.Errorf("decode the state: %w", err)
	}
	return state, nil
}

// readRefusal returns the reason in the answer of a shard that refuses a request.
func readRefusal(body io.Reader) error {
	const longest = 500
	reason, err := io.ReadAll(io.LimitReader(body, longest))
	return errors.Join(fmt.Errorf("the session is refused: %.500q", strings.TrimSpace(string(reason))), err)
}
