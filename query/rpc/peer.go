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
	// Pool keeps connections for later sessions. Default: each session is a connection.
	Pool *Pool
	// Now is the clock of handshakes. Default: time.Now.
	Now func() time.Time
}

// NewSession returns a session with the view of a caller. Its first call connects.
func (p *Peer) NewSession(caller []byte) search.Shard {
	return &session{peer: p, path: sessionPath, caller: caller}
}

// session is a session with a shard, on a connection.
type session struct {
	peer   *Peer
	path   string
	caller []byte
	conn   *connection // nil until the first call
	failed error       // why the session cannot be used any more
}

var _ search.Shard = (*session)(nil)

// Partitions implements search.Shard.
func (s *session) Partitions() []int32 { return s.peer.Owned }

// Close implements search.Shard.
func (s *session) Close() {
	if s.conn != nil && (s.failed != nil || !s.peer.Pool.keep(s.conn)) {
		_ = s.conn.stream.Close() // nothing is left to send
	}
	s.conn, s.failed = nil, errors.New("the session is closed")
}

// Call implements search.Shard.
func (s *session) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	in, err := s.exchange(ctx, &call{Call: c})
	if err != nil {
		return nil, err
	}
	if s.conn.list, err = in.completeList(s.conn.list); err != nil {
		s.failed = err
		return nil, s.lossError(ctx, err)
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
		if in = s.callKept(ctx, out); in == nil {
			s.failed = s.openConnection(ctx)
		}
	}
	if s.failed != nil {
		return nil, s.lossError(ctx, s.failed)
	}
	if in == nil {
		in, err = s.sendCall(ctx, out)
	}
	if err == nil && in.Code == refusedFailure {
		err = refusedError(in.Text)
		s.failed = err
	}
	if err != nil {
		return nil, s.lossError(ctx, err)
	}
	return in, nil
}

// callKept sends the first call of the session on a kept connection, and returns the reply. It
// returns nil if there is none, or if the shard does not answer in the time of openConnection: it
// may have closed the connection since, or the network may have forgotten it. A call that takes
// longer is sent again, on a new connection.
func (s *session) callKept(ctx context.Context, out *call) *reply {
	if s.conn = s.peer.Pool.take(); s.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	out.Next = &nextSession{s.path, s.peer.newHandshake(s.caller).signHeader(s.path, s.peer.Secret)}
	in, err := s.sendCall(ctx, out)
	out.Next = nil
	if err != nil {
		s.conn, s.failed = nil, nil
	}
	return in
}

// sendCall sends a call on the connection, and returns the reply. The connection is closed if that
// fails.
func (s *session) sendCall(ctx context.Context, out *call) (*reply, error) {
	stream := s.conn.stream
	if err := stream.SetDeadline(time.Time{}); err != nil {
		s.failed = errors.Join(err, stream.Close())
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // it may still change the deadline
			s.failed = cmp.Or(s.failed, ctx.Err())
		}
	}()
	if end, ok := ctx.Deadline(); ok {
		out.Within = max(time.Until(end), 1)
	}
	in := &reply{}
	var message any = out
	if out.Git != nil {
		message = &gitCall{out.Git, out.Within, out.Trace}
	}
	err := s.conn.codec.sendMessage(message)
	if err == nil {
		err = s.conn.codec.receiveMessage(in)
	}
	if err != nil {
		s.failed = err
		_ = stream.Close() // the shard gives the call up
		return nil, err
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
	reusable, err := s.upgradeConnection(conn, in)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	s.conn = &connection{stream: conn, codec: newCodec(conn, in), reusable: reusable, opened: time.Now()}
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

// upgradeConnection turns a new connection into a session, and reports whether others may follow.
func (s *session) upgradeConnection(conn net.Conn, in *bufio.Reader) (reusable bool, err error) {
	r, err := s.peer.newRequest(s.path, s.caller)
	if err != nil {
		return false, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	if err := r.Write(conn); err != nil {
		return false, err
	}
	response, err := http.ReadResponse(in, r)
	if err != nil {
		return false, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return false, errors.Join(readRefusal(response.Body), response.Body.Close())
	}
	return response.Header.Get(headerReuse) != "", s.peer.checkPartitions(response)
}

// newHandshake returns the handshake for a caller.
func (p *Peer) newHandshake(caller []byte) *handshake {
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	return &handshake{Version, now(), caller}
}

// newRequest returns a signed request for a path.
func (p *Peer) newRequest(path string, caller []byte) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+p.Address+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set(headerHandshake, p.newHandshake(caller).signHeader(path, p.Secret))
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
	// Creating reports whether the shard is creating a snapshot, and SnapshotError why the last
	// one failed; both are unset by older releases.
	Creating      bool
	SnapshotError string
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
	response, err := p.send(ctx, r)
	if err != nil {
		return nil, err
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

// send sends a request that opens no session.
func (p *Peer) send(ctx context.Context, r *http.Request) (*http.Response, error) {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: p.tlsConfig()}
	if transport.TLSClientConfig != nil {
		r.URL.Scheme = "https"
	}
	response, err := (&http.Client{Transport: transport}).Do(r.WithContext(ctx))
	return response, explainTLS(err)
}

// readRefusal returns the reason in the answer of a shard that refuses a request.
func readRefusal(body io.Reader) error {
	const longest = 500
	reason, err := io.ReadAll(io.LimitReader(body, longest))
	return errors.Join(refusedError(string(reason)), err)
}

func refusedError(reason string) error {
	return fmt.Errorf("the session is refused: %.500q", strings.TrimSpace(reason))
}
