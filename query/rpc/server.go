package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/tracing"
	"github.com/quarrysearch/quarry/schemas/verification"
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

// ServerOptions configure a Server. Secret is required, and so are Partitions and OpenSession, or
// Git; without OpenRepository, State, CreateSnapshot,
// Replays, Erasures and Verify, the server has none of them.
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
	// Git answers git reads, in a process with mirrors.
	Git *GitService
	// State returns the state of the shard, or an error if it opens no sessions.
	State func() (*State, error)
	// CreateSnapshot begins to create a snapshot, as Peer.CreateSnapshot describes it.
	CreateSnapshot func(ctx context.Context) error
	// Replays are those of the shard.
	Replays Replays
	// Erasures are those of the shard.
	Erasures Erasures
	// Verify compares the repositories of the shard with their mirrors, as Peer.Verify describes it.
	Verify func(ctx context.Context, r verification.Request, emit func(*verification.Finding) error) error
	// MaxSessions bounds the open sessions, and the connections that wait for one. Default:
	// DefaultMaxSessions.
	MaxSessions int
	// MaxIdle bounds the time for which a session is idle. Default: DefaultMaxIdle.
	MaxIdle time.Duration
	// Now is the clock of handshakes. Default: time.Now.
	Now        func() time.Time
	Tracer     *tracing.Tracer       // nil traces nothing
	Logger     *slog.Logger          // optional
	Registerer prometheus.Registerer // of the metrics; nil for none
}

// refusalLogEvery is the interval at which refused handshakes are logged: anyone who reaches the
// listener can cause them.
const refusalLogEvery = 10 * time.Second

// Server serves the sessions of one shard. It implements http.Handler.
type Server struct {
	o       ServerOptions
	metrics *metrics
	slots   chan struct{}
	// open counts the sessions. opening is held while one is added, or ctx is canceled, so that Close
	// waits for all that begin.
	open    sync.WaitGroup
	opening sync.Mutex
	// reads and walks are the slots of git reads, and gitWait bounds the wait for one.
	reads, walks chan struct{}
	gitWait      time.Duration
	ctx          context.Context // of the sessions
	end          context.CancelFunc
	refused      struct {
		sync.Mutex
		logged     time.Time // when a refused handshake was logged
		suppressed int       // since then
	}
}

// NewServer returns a Server. Close ends its sessions.
func NewServer(o ServerOptions) (*Server, error) {
	if len(o.Secret) < MinSecretBytes || (len(o.Partitions) == 0 || o.OpenSession == nil) == (o.Git == nil) {
		return nil, fmt.Errorf("rpc: want a secret of %d bytes, and partitions with OpenSession, or Git", MinSecretBytes)
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
	s := &Server{o: o, metrics: NewMetrics(o.Registerer), slots: make(chan struct{}, o.MaxSessions), gitWait: source.DefaultMaxWait}
	s.reads, s.walks = make(chan struct{}, 4*runtime.GOMAXPROCS(0)), make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	s.ctx, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all sessions and waits for them.
func (s *Server) Close() error {
	s.opening.Lock()
	s.end()
	s.opening.Unlock()
	s.open.Wait()
	return nil
}

// ServeHTTP serves a session until its connection ends, or the state of the shard.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close") // fronts open one for each request
	path, isSession := r.URL.Path, strings.EqualFold(r.Header.Get("Upgrade"), protocol)
	method, known := http.MethodGet, !isSession && path == statePath && s.o.State != nil
	if !isSession && path == operationPath {
		method, known = http.MethodPost, s.o.CreateSnapshot != nil || s.o.Replays != nil || s.o.Erasures != nil || s.o.Verify != nil
	} else if isSession {
		known = path == sessionPath && s.o.OpenSession != nil || path == repositoryPath && s.o.OpenRepository != nil || path == gitPath && s.o.Git != nil
	}
	if r.Method != method || !known {
		http.Error(w, "this listener serves only peers: shard.peers are addresses of shard.listen, and git.peers of git.listen", http.StatusNotFound)
		return
	}
	caller, err := s.readCaller(path, r.Header.Get(headerHandshake), r.RemoteAddr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	switch {
	case path == operationPath:
		s.serveOperation(r.Context(), w, caller)
		return
	case !isSession:
		s.serveState(w)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		s.metrics.refused.WithLabelValues(refusedLimit).Inc()
		http.Error(w, fmt.Sprintf("the process has %d open sessions", s.o.MaxSessions), http.StatusServiceUnavailable)
		return
	}
	s.opening.Lock()
	err = s.ctx.Err()
	if err == nil {
		s.open.Add(1)
		defer s.open.Done()
	}
	s.opening.Unlock()
	var open openSession
	if err == nil {
		open, err = s.openSession(path, caller)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.serveConnection(w, path, open)
}

// readCaller returns the caller of a handshake for a path, which a peer has sent.
func (s *Server) readCaller(path, header, peer string) ([]byte, error) {
	h, err := readHandshake(path, header, s.o.Secret, s.o.Now())
	if err != nil {
		s.logRefusal(peer, err)
		s.metrics.refused.WithLabelValues(refusedHandshake).Inc()
		return nil, err
	}
	return h.caller, nil
}

// openSession opens a session of a caller.
func (s *Server) openSession(path string, caller []byte) (open openSession, err error) {
	switch path {
	case sessionPath:
		open.search, err = s.o.OpenSession(s.ctx, caller)
	case repositoryPath:
		open.repository, err = s.o.OpenRepository(s.ctx, caller)
	default:
		open.git, err = s.openGit(caller)
	}
	if err != nil {
		s.metrics.refused.WithLabelValues(refusedUnavailable).Inc()
		return openSession{}, err
	}
	s.metrics.open.Inc()
	return open, nil
}

// endSession ends a session, if there is one, for a reason.
func (s *Server) endSession(o *openSession, reason string) {
	if o.search == nil && o.repository == nil && o.git == nil {
		return
	}
	o.close()
	*o = openSession{}
	s.metrics.open.Dec()
	s.metrics.ended.WithLabelValues(reason).Inc()
}

// logRefusal logs a refused handshake, unless another one was logged a short time ago.
func (s *Server) logRefusal(peer string, err error) {
	s.refused.Lock()
	defer s.refused.Unlock()
	now := s.o.Now()
	if since := now.Sub(s.refused.logged); since >= 0 && since < refusalLogEvery {
		s.refused.suppressed++
		return
	}
	s.o.Logger.Warn("refusing a session of a peer", "peer", peer, "error", err, "suppressed", s.refused.suppressed)
	s.refused.logged, s.refused.suppressed = now, 0
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

// openSession is a session of a search, about a repository, or of git reads; the others are nil.
type openSession struct {
	search     search.Shard
	repository RepositorySession
	git        *gitSession
}

func (o openSession) close() {
	switch {
	case o.search != nil:
		o.search.Close()
	case o.repository != nil:
		o.repository.Close()
	}
}

// fits reports whether a call is one of the session.
func (o openSession) fits(c *call) bool {
	return (c.Call != nil) == (o.search != nil) && (c.Repository != nil) == (o.repository != nil) && (c.Git != nil) == (o.git != nil)
}

// serveConnection upgrades the connection and carries out the calls of its session, and of those
// that follow it.
func (s *Server) serveConnection(w http.ResponseWriter, path string, session openSession) {
	var unread error // why no call is read any more
	var unsent error
	defer func() {
		reason := endClosed
		if errors.Is(cmp.Or(unsent, unread), os.ErrDeadlineExceeded) {
			reason = endIdle
		}
		s.endSession(&session, reason)
	}()
	conn, stream, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }() // nothing is left to send
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return
	}
	head := fmt.Sprintf("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n", protocol, headerPartitions, formatPartitions(s.o.Partitions))
	if path != gitPath {
		head += headerReuse + ": 1\r\n"
	}
	_, err = stream.WriteString(head + "\r\n")
	if err := cmp.Or(err, stream.Flush()); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer context.AfterFunc(s.ctx, func() { _ = conn.Close() })()
	codec := newCodec(conn, stream.Reader)
	var list []*corpus.Repository // of the last session
	calls := make(chan *call)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer func() { _ = conn.Close() }() // ends the reader
	defer cancel()
	reader.Go(func() {
		defer cancel() // the front is gone
		for {
			c := &call{}
			if unread = cmp.Or(conn.SetReadDeadline(time.Now().Add(s.o.MaxIdle)), codec.receiveMessage(c)); unread != nil {
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
			if c.Ended {
				s.endSession(&session, endClosed)
				continue
			}
			r := s.answerCall(ctx, &session, c, conn.RemoteAddr().String())
			if r == nil {
				return
			}
			list = r.shortenList(list, c.Next != nil)
			var message any = r
			if session.git != nil {
				message = &gitReply{r.Git, r.Code, r.Text}
			}
			if unsent = cmp.Or(conn.SetWriteDeadline(time.Now().Add(s.o.MaxIdle)), codec.sendMessage(message)); unsent != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// answerCall carries out a call of a session, or of the next one. It returns nil for a call that no
// front sends.
func (s *Server) answerCall(ctx context.Context, session *openSession, c *call, peer string) *reply {
	if c.Next != nil {
		isSearch := c.Next.Path == sessionPath && s.o.OpenSession != nil
		if session.git != nil || !isSearch && (c.Next.Path != repositoryPath || s.o.OpenRepository == nil) {
			return nil
		}
		s.endSession(session, endClosed)
		caller, err := s.readCaller(c.Next.Path, c.Next.Handshake, peer)
		if err == nil {
			*session, err = s.openSession(c.Next.Path, caller)
		}
		if err != nil {
			return &reply{Code: refusedFailure, Text: err.Error()}
		}
	}
	if !session.fits(c) {
		return nil
	}
	ctx, span := s.o.Tracer.StartCall(ctx, c.Trace, "shard "+c.stepName())
	r := session.carryOut(ctx, c)
	span.End(r.failureError())
	return r
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
	switch {
	case o.search != nil:
		r.Reply, err = o.search.Call(ctx, c.Call)
	case o.repository != nil:
		r.Repository, err = o.repository.Call(ctx, c.Repository)
	default:
		r.Git, err = o.git.callGit(ctx, c.Git)
	}
	if err != nil {
		r.setFailure(err)
	}
	return r
}
