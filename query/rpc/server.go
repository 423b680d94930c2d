package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/search"
)

// Bounds of the sessions of a Server, each of which holds a view and the hits of a search.
const (
	// DefaultMaxSessions bounds those that are open.
	DefaultMaxSessions = 1024
	// DefaultMaxIdle bounds the time between two calls, and that in which a front reads a
	// reply: a front that hangs keeps its connections. It is longer than any step of a search
	// at another shard.
	DefaultMaxIdle = 5 * time.Minute
)

// ServerOptions configure a Server. Secret, Partitions and OpenSession are
// required; without OpenRepository and State, the server has neither.
type ServerOptions struct {
	// Secret is shared by all peers, at least MinSecretBytes.
	Secret []byte
	// Partitions are those that this shard owns, ascending.
	Partitions []int32
	// OpenSession opens a session with the view of a caller, as Peer.NewSession describes
	// it.
	OpenSession func(ctx context.Context, caller []byte) (search.Shard, error)
	// OpenRepository opens a session about a repository, as Peer.OpenRepository describes
	// it.
	OpenRepository func(ctx context.Context, caller []byte) (RepositorySession, error)
	// State returns the state of the shard, or an error if it opens no sessions.
	State func() (*State, error)
	// MaxSessions bounds the open sessions. Default: DefaultMaxSessions.
	MaxSessions int
	// MaxIdle bounds the time for which a session is idle. Default: DefaultMaxIdle.
	MaxIdle time.Duration
	// Now is the clock of handshakes. Default: time.Now.
	Now    func() time.Time
	Logger *slog.Logger // optional
}

// Server serves the sessions of one shard. It implements http.Handler.
type Server struct {
	o     ServerOptions
	slots chan struct{}
	open  sync.WaitGroup
	ctx   context.Context // of the sessions
	end   context.CancelFunc
}

// NewServer returns a Server. Close ends its sessions.
func NewServer(o ServerOptions) (*Server, error) {
	if len(o.Secret) < MinSecretBytes || len(o.Partitions) == 0 || o.OpenSession == nil {
		return nil, fmt.Errorf("rpc: want a secret of %d bytes, partitions and OpenSession", MinSecretBytes)
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	if o.MaxIdle <= 0 {
		o.MaxIdle = DefaultMaxIdle
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, slots: make(chan struct{}, o.MaxSessions)}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all sessions and waits for them.
func (s *Server) Close() error {
	s.end()
	s.open.Wait()
	return nil
}

// ServeHTTP serves a session until its connection ends, or the state of the shard.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close") // fronts open one for each request
	path, isSession := r.URL.Path, strings.EqualFold(r.Header.Get("Upgrade"), protocol)
	known := isSession && (path == sessionPath || path == repositoryPath && s.o.OpenRepository != nil) || !isSession && path == statePath && s.o.State != nil
	if r.Method != http.MethodGet || !known {
		http.Error(w, "this listener serves sessions of shards only", http.StatusNotFound)
		return
	}
	h, err := readHandshake(path, r.Header.Get(headerHandshake), s.o.Secret, s.o.Now())
	if err != nil {
		s.o.Logger.Warn("refusing a session of a front", "peer", r.RemoteAddr, "error", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if !isSession {
		s.serveState(w)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		http.Error(w, fmt.Sprintf("the shard has %d open sessions", s.o.MaxSessions), http.StatusServiceUnavailable)
		return
	}
	s.open.Add(1)
	defer s.open.Done()
	var open openSession
	if path == sessionPath {
		open.search, err = s.o.OpenSession(s.ctx, h.caller)
	} else {
		open.repository, err = s.o.OpenRepository(s.ctx, h.caller)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer open.close()
	s.serveSession(w, open)
}

// serveState answers with the state of the shard.
func (s *Server) serveState(w http.ResponseWriter) {
	state, err := s.o.State()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set(headerPartitions, formatPartitions(s.o.Partitions))
	_ = json.NewEncoder(w).Encode(state) // the front may be gone
}

// openSession is a session of a search or about a repository; the other one is nil.
type openSession struct {
	search     search.Shard
	repository RepositorySession
}

func (o openSession) close() {
	if o.search != nil {
		o.search.Close()
		return
	}
	o.repository.Close()
}

// serveSession upgrades the connection and carries out calls.
func (s *Server) serveSession(w http.ResponseWriter, session openSession) {
	conn, stream, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }() // nothing is left to send
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return
	}
	_, err = fmt.Fprintf(stream, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n\r\n", protocol, headerPartitions, formatPartitions(s.o.Partitions))
	if err != nil || stream.Flush() != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer context.AfterFunc(s.ctx, func() { _ = conn.Close() })()
	codec := newCodec(conn, stream.Reader)
	calls := make(chan *call)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer func() { _ = conn.Close() }() // ends the reader
	defer cancel()
	reader.Go(func() {
		defer cancel() // the front is gone
		for {
			c := &call{}
			if conn.SetReadDeadline(time.Now().Add(s.o.MaxIdle)) != nil || codec.receiveMessage(c) != nil || (c.Call == nil) == (session.search != nil) || (c.Repository == nil) == (session.repository != nil) {
				return
			}
			select {
			case calls <- c:
			case <-ctx.Done():
				return
			}
		}
	})
	for {
		select {
		case c := <-calls:
			r := session.carryOut(ctx, c)
			if conn.SetWriteDeadline(time.Now().Add(s.o.MaxIdle)) != nil || codec.sendMessage(r) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// carryOut carries out a call of a session.
func (o openSession) carryOut(ctx context.Context, c *call) (r *reply) {
	r = &reply{}
	if c.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Within)
		defer cancel()
	}
	var err error
	if o.search != nil {
		r.Reply, err = o.search.Call(ctx, c.Call)
	} else {
		r.Repository, err = o.repository.Call(ctx, c.Repository)
	}
	if err != nil {
		r.setFailure(err)
	}
	return r
}
