package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Version is the version of the messages. It grows with a change that the previous version
// does not understand in the sense of the package documentation.
const Version = 1

// maxMessageBytes bounds a message.
const maxMessageBytes = 256 << 20

// maxQueryNodes bounds the nodes of the query of a call. Package gob decodes a tree of any
// depth, by recursion with 1.5 kB of stack for each node, and a stack of 1 GB ends the process.
// A parsed query has fewer: at most one for each of syntax.MaxQueryBytes.
const maxQueryNodes = 100_000

// nodeName begins the name of each node in a message.
var nodeName = []byte("*syntax.")

// call is a message of the front.
type call struct {
	Call *search.ShardCall
	// Repository is the call of a session about a repository.
	Repository *RepositoryCall
	// Git is the call of a session of git reads.
	Git *GitCall
	// Within is the time that is left for the call; 0 for no bound.
	Within time.Duration
	// Trace is the trace context of the call; empty if its trace is not sampled.
	Trace string
	// Next opens another session, for the call. Ended ends the session without a reply. Both
	// are only sent to a process whose answer had headerReuse.
	Next  *nextSession
	Ended bool
}

// nextSession is the path of a session, and its handshake as in a request.
type nextSession struct{ Path, Handshake string }

// stepName names the call for traces.
func (c *call) stepName() string {
	switch {
	case c.Call != nil:
		return c.Call.Step()
	case c.Repository != nil:
		return "repository"
	}
	return "git"
}

// reply is a message of the shard.
type reply struct {
	Reply      *search.ShardReply
	Repository *RepositoryReply
	Git        *GitReply
	// List is the change of the repositories of Reply.Open, which has none then. It is only sent
	// to a session that follows another one.
	List *listChange
	// Code is the kind of a failure, empty for none, and Text describes it.
	Code, Text string
}

// gitCall and gitReply are a call and a reply of a session of git reads, as they are sent: package
// gob describes all types of a message to each connection, and those of searches are many. They are
// received as call and reply, because package gob matches fields by name.
type (
	gitCall struct {
		Git    *GitCall
		Within time.Duration
		Trace  string
	}
	gitReply struct {
		Git        *GitReply
		Code, Text string
	}
)

// failures are the errors that both sides know by a code.
var failures = []struct {
	code string
	err  error
}{
	{"busy", search.ErrBusy}, {"unavailable", search.ErrUnavailable}, {"invalid query", syntax.ErrInvalid}, {"pattern", plan.ErrPattern},
	{"not found", code.ErrNotFound}, {"deadline", context.DeadlineExceeded}, {"canceled", context.Canceled},
	{"not held", ErrNotHeld},
}

// sourceFailures are those of sessions about a repository and of git reads, whose texts are kept.
// One of a kind that is also another one comes first.
var sourceFailures = []struct {
	code string
	err  error
}{
	{"submodule", source.ErrSubmodule}, {"directory", source.ErrDirectory}, {"no path", source.ErrNoPath}, {"binary", source.ErrBinary},
	{"too large", source.ErrTooLarge}, {"not indexed", source.ErrNotIndexed}, {"no revision", source.ErrNoRevision},
	{"no lines", source.ErrNoLine}, {"bad pattern", source.ErrInvalidPattern}, {"git time", source.ErrTimeout}, {"git busy", source.ErrBusy},
	{"no mirror", source.ErrUnavailable},
}

// skippedFailure is the code of a *source.SkippedError, whose reason is the text, and
// objectFailure that of a *source.ObjectError, whose object is.
const (
	skippedFailure = "skipped"
	objectFailure  = "object"
)

// refusedFailure is the code of a session that is refused, and otherFailure that of all other
// errors.
const (
	refusedFailure = "refused"
	otherFailure   = "failed"
)

// setFailure sets the failure of a reply.
func (r *reply) setFailure(err error) {
	r.Reply, r.Repository, r.Git, r.Code, r.Text = nil, nil, nil, otherFailure, err.Error()
	if skipped, ok := errors.AsType[*source.SkippedError](err); ok {
		r.Code, r.Text = skippedFailure, string(skipped.Reason)
		return
	}
	if missing, ok := errors.AsType[*source.ObjectError](err); ok {
		r.Code, r.Text = objectFailure, missing.Object
		return
	}
	for _, f := range sourceFailures {
		if errors.Is(err, f.err) {
			r.Code = f.code
			return
		}
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			r.Code = f.code
			return
		}
	}
}

// failureError returns the error of a reply, or nil.
func (r *reply) failureError() error {
	switch r.Code {
	case "":
		return nil
	case skippedFailure:
		return &source.SkippedError{Reason: code.SkipReason(r.Text)}
	case objectFailure:
		return &source.ObjectError{Object: r.Text}
	}
	for _, f := range sourceFailures {
		if f.code == r.Code {
			return &remoteError{r.Text, f.err}
		}
	}
	for _, f := range failures {
		switch {
		case f.code != r.Code:
		case f.err == context.DeadlineExceeded:
			return fmt.Errorf("%w: its time for the call is over", search.ErrShardLost)
		case f.err == context.Canceled:
			return fmt.Errorf("%w: it is stopping", search.ErrShardLost)
		default:
			return fmt.Errorf("another process: %w: %.300q", f.err, r.Text)
		}
	}
	return fmt.Errorf("another process: %.300q", r.Text)
}

// codec sends and receives messages: the length in four bytes, and values of package gob.
// The first message of a type also describes the type.
type codec struct {
	conn     io.Writer
	in       *bufio.Reader
	out      bytes.Buffer
	received bytes.Buffer
	largest  int // message, sent or received: what the buffers of both sides may have
	encoder  *gob.Encoder
	decoder  *gob.Decoder
}

func newCodec(conn io.Writer, in *bufio.Reader) *codec {
	search.RegisterShardTypes()
	c := &codec{conn: conn, in: in}
	c.encoder, c.decoder = gob.NewEncoder(&c.out), gob.NewDecoder(&c.received)
	return c
}

// sendMessage sends a message.
func (c *codec) sendMessage(m any) error {
	c.out.Reset()
	c.out.Write(make([]byte, 4))
	if err := c.encoder.Encode(m); err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	size := c.out.Len() - 4
	if size > maxMessageBytes {
		return fmt.Errorf("a message has %d bytes, at most %d", size, maxMessageBytes)
	}
	c.largest = max(c.largest, size)
	binary.BigEndian.PutUint32(c.out.Bytes(), uint32(size))
	_, err := c.conn.Write(c.out.Bytes())
	return err
}

// receiveMessage receives a message.
func (c *codec) receiveMessage(m any) error {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMessageBytes {
		return fmt.Errorf("a message has %d bytes, at most %d", size, maxMessageBytes)
	}
	c.received.Reset()
	c.largest = max(c.largest, int(size))
	if n, err := io.CopyN(&c.received, c.in, int64(size)); err != nil {
		return fmt.Errorf("a message ends after %d of %d bytes: %w", n, size, err)
	}
	if _, isCall := m.(*call); isCall && bytes.Count(c.received.Bytes(), nodeName) > maxQueryNodes {
		return fmt.Errorf("a query has more than %d nodes", maxQueryNodes)
	}
	if err := c.decoder.Decode(m); err != nil {
		return fmt.Errorf("decode a message: %w", err)
	}
	return nil
}
