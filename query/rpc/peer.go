package rpc

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/search"
)

// dialTimeout bounds the time to reach a shard, with the upgrade.
const dialTimeout = 2 * time.Second

// Peer is a shard as a front knows it. Its fields are set before use.
type Peer struct {
	// Address is host:port of its Server, and TLS the settings of the connection; nil for
	// none.
	Address string
	TLS     *tls.Config
	// Secret is shared by all peers, at least MinSecretBytes.
	Secret []byte
	// Owned are the partitions that it must own, ascending.
	Owned []int32
	// Now is the clock of handshakes. Default: time.Now.
	Now func() time.Time
}

// NewSession returns a session with the view of a caller. Its first call connects.
func (p *Peer) NewSession(caller []byte) search.Shard { return &session{peer: p, caller: caller} }

// session is a connection to a shard.
type session struct {
	peer   *Peer
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
	out := &call{Call: c}
	if end, ok := ctx.Deadline(); ok {
		out.Within = max(time.Until(end), 1)
	}
	in := &reply{}
	err := s.codec.sendMessage(out)
	if err == nil {
		err = s.codec.receiveMessage(in)
	}
	if err != nil {
		s.failed = err
		_ = s.conn.Close() // the shard gives the call up
		return nil, s.lossError(ctx, err)
	}
	return in.Reply, in.failureError()
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
	var d interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if s.peer.TLS != nil {
		d = &tls.Dialer{Config: s.peer.TLS}
	}
	conn, err := d.DialContext(ctx, "tcp", s.peer.Address)
	if err != nil {
		return err
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

// upgradeConnection turns a new connection into a session.
func (s *session) upgradeConnection(conn net.Conn, in *bufio.Reader) error {
	r, err := http.NewRequest(http.MethodGet, "http://"+s.peer.Address+sessionPath, nil)
	if err != nil {
		return err
	}
	now := time.Now
	if s.peer.Now != nil {
		now = s.peer.Now
	}
	h := handshake{Version, now(), s.caller}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	r.Header.Set(headerHandshake, h.signHeader(s.peer.Secret))
	if err := r.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(in, r)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		const longest = 500
		reason, err := io.ReadAll(io.LimitReader(response.Body, longest))
		return errors.Join(fmt.Errorf("the session is refused: %.500q", strings.TrimSpace(string(reason))), err, response.Body.Close())
	}
	if owned := response.Header.Get(headerPartitions); owned != formatPartitions(s.peer.Owned) {
		return fmt.Errorf("the shard has partitions %.200q", owned)
	}
	return nil
}
