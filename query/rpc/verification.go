package rpc

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/verification"
)

const (
	// aliveEvery is the interval at which a shard says that a verification goes on.
	aliveEvery = 5 * time.Second
	// silentVerification is the time after which a verification is lost that says nothing.
	silentVerification = 6 * aliveEvery
	// maxFindingBytes bounds an encoded finding, whose paths and names are bounded.
	maxFindingBytes = 1 << 20
)

// verificationLine is a line of a verification. One without a finding says that it goes on, unless
// it is the last one.
type verificationLine struct {
	Finding *verification.Finding `json:",omitempty"`
	Ended   bool                  `json:",omitempty"`
	Error   string                `json:",omitempty"` // of the last line
}

// errSilent is the reason why a verification is given up.
var errSilent = fmt.Errorf("it has said nothing for %s", silentVerification)

// Verify has the shard compare its repositories with their mirrors, and calls emit with each finding
// in this goroutine. The error wraps ErrOperation if the shard refuses it.
func (p *Peer) Verify(ctx context.Context, r verification.Request, emit func(*verification.Finding) error) (err error) {
	caller := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(silentVerification, func() { cancel(errSilent) })
	defer silence.Stop()
	defer func() {
		if err != nil && caller.Err() == nil && errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
	}()
	body, err := p.beginOperation(ctx, operationVerify, r)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it is read
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxFindingBytes)
	for lines.Scan() {
		silence.Reset(silentVerification)
		var line verificationLine
		switch err := json.Unmarshal(lines.Bytes(), &line); {
		case err != nil:
			return fmt.Errorf("decode a finding: %w", err)
		case line.Error != "":
			return fmt.Errorf("%w: %.500q", ErrOperation, line.Error)
		case line.Ended:
			return nil
		case line.Finding != nil:
			if err := emit(line.Finding); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return fmt.Errorf("its verification ends early: %w", io.ErrUnexpectedEOF)
}

// serveVerification streams a verification as lines.
func (s *Server) serveVerification(ctx context.Context, w http.ResponseWriter, argument []byte) {
	var in verification.Request
	if err := json.Unmarshal(argument, &in); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var alive sync.WaitGroup
	defer alive.Wait()
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	control := http.NewResponseController(w)
	var sending sync.Mutex
	begun := false
	send := func(line verificationLine) error {
		sending.Lock()
		defer sending.Unlock()
		if !begun {
			w.WriteHeader(http.StatusAccepted)
			begun = true
		}
		// Without this, the deadline is that of the request.
		err := control.SetWriteDeadline(time.Now().Add(silentVerification))
		return cmp.Or(err, json.NewEncoder(w).Encode(line), control.Flush())
	}
	alive.Go(func() {
		_ = clock.RunEvery(ctx, aliveEvery, func(context.Context) {
			if send(verificationLine{}) != nil {
				cancel() // the front is gone
			}
		}) // its error is that of ctx
	})
	err := s.o.Verify(ctx, in, func(f *verification.Finding) error { return send(verificationLine{Finding: f}) })
	cancel()
	alive.Wait()
	last := verificationLine{Ended: true}
	switch {
	case err != nil && !begun:
		http.Error(w, err.Error(), http.StatusConflict)
		return
	case err != nil:
		last.Error = err.Error()
	}
	_ = send(last) // the front may be gone
}
