package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/client"
)

// These are the bounds of a Bridge.
const (
	// MaxLine bounds a message of the client, in bytes.
	MaxLine               = 1 << 20
	maxConcurrentRequests = 16
	// maxTries bounds how often a message is sent while the server cannot be reached or
	// asks to wait, which takes about 15 seconds in all. All calls are read-only, so a
	// message whose response was lost can be sent again.
	maxTries   = 7
	firstPause = 250 * time.Millisecond
	maxPause   = 10 * time.Second
)

// Bridge relays messages between a client and a server.
type Bridge struct {
	// Send posts a message. If it fails with a client.Later, the message is sent again.
	Send func(ctx context.Context, message []byte, header http.Header) (answer []byte, err error)
	Out  io.Writer
	// Log receives messages for people.
	Log io.Writer

	mu struct {
		sync.Mutex
		// version is the protocol revision that initialize negotiated.
		version string
		// cancel cancels requests, by the text of their ID.
		cancel map[string]context.CancelFunc
	}
}

// Run relays the messages of in until in ends.
func (b *Bridge) Run(ctx context.Context, in io.Reader) error {
	b.mu.cancel = make(map[string]context.CancelFunc)
	lines := bufio.NewReaderSize(in, MaxLine)
	places := make(chan struct{}, maxConcurrentRequests)
	var group sync.WaitGroup
	defer group.Wait()
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if err := b.refuseLongLine(lines); err != nil {
				return err
			}
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			m := parseMessage(bytes.Clone(line))
			if m.Method == "notifications/cancelled" {
				b.cancelRequest(m)
			} else {
				places <- struct{}{}
				group.Go(func() {
					defer func() { <-places }()
					b.relayMessage(ctx, m)
				})
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the messages of the client: %w", err)
		}
	}
}

// refuseLongLine answers a line that is too long, and skips it.
func (b *Bridge) refuseLongLine(lines *bufio.Reader) error {
	for {
		_, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		b.reportFailure(message{}, fmt.Errorf("a message of more than %d bytes", MaxLine))
		if errors.Is(err, io.EOF) {
			return nil // the next read returns the same error
		}
		return err
	}
}

// relayMessage sends one message and writes the response.
func (b *Bridge) relayMessage(ctx context.Context, m message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if m.isCall() {
		b.mu.Lock()
		b.mu.cancel[string(m.ID)] = cancel
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			delete(b.mu.cancel, string(m.ID))
			b.mu.Unlock()
		}()
	}
	answer, err := b.sendWithRetries(ctx, m)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		b.reportFailure(m, err)
	case len(answer) > 0:
		b.noteVersion(m, answer)
		b.writeAnswer(answer)
	}
}

// sendWithRetries sends a message until there is a response or a retry cannot help.
func (b *Bridge) sendWithRetries(ctx context.Context, m message) ([]byte, error) {
	pause := firstPause
	for try := 1; ; try++ {
		answer, err := b.Send(ctx, m.raw, b.transportHeader(m))
		later, again := errors.AsType[*client.Later](err)
		if !again || try == maxTries {
			return answer, err
		}
		if try == 1 {
			b.logLine("%v; trying again", err)
		}
		timer := time.NewTimer(min(max(pause, later.After), maxPause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		pause *= 2
	}
}

// cancelRequest cancels a request at the wish of the client.
func (b *Bridge) cancelRequest(m message) {
	var params struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.mu.cancel[string(params.ID)]; cancel != nil {
		cancel()
	}
}

// reportFailure reports an error on the log and, if a response is expected, to the
// client.
func (b *Bridge) reportFailure(m message, err error) {
	b.logLine("%v", err)
	if m.raw != nil && !m.isCall() {
		return
	}
	id := m.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	const serverError = -32000
	answer, _ := json.Marshal(map[string]any{ // strings and a number always marshal
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": serverError, "message": "quarry: " + err.Error()},
	})
	b.writeAnswer(answer)
}

func (b *Bridge) logLine(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Log, "quarry: "+format+"\n", args...) // an error here cannot be reported
}

// writeAnswer writes a message as one line.
func (b *Bridge) writeAnswer(answer []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, answer); err != nil {
		b.logLine("the server answered with something that is no JSON: %v", err)
		return
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.Out.Write(line.Bytes()); err != nil {
		b.logLine("the client no longer reads answers: %v", err)
	}
}
