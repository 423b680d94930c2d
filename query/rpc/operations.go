package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// The operations of a shard. The handshake has the name in place of a caller, and after a line feed
// the argument.
const (
	operationSnapshot     = "create a snapshot"
	operationStartReplay  = "start a replay"
	operationCancelReplay = "cancel a replay"
	operationListReplays  = "list replays"
	operationVerify       = "verify"
	operationListErasures = "list erasures"
	operationCountShared  = "count shared files"
	operationListNamed    = "list named segments"
)

const (
	// operationTimeout bounds an operation: some read the sizes of files.
	operationTimeout = 10 * time.Second
	// maxResultBytes bounds the result of an operation.
	maxResultBytes = 16 << 20
)

// Reasons why a shard that was reached does not begin an operation. ErrOlderRelease is an
// ErrOperation.
var (
	ErrOperation    = errors.New("the shard refuses the operation")
	ErrOlderRelease = fmt.Errorf("%w: its release is older than that of the front", ErrOperation)
)

// Replays are those of a shard.
type Replays interface {
	Start(ctx context.Context, r replay.Request) (replay.Replay, error)
	Cancel(ctx context.Context, id int) (replay.Replay, error)
	List(ctx context.Context) (replay.List, error)
}

// CreateSnapshot has the shard begin to create a snapshot. The error wraps ErrOperation if the shard
// answers that it does not.
func (p *Peer) CreateSnapshot(ctx context.Context) error {
	return p.callOperation(ctx, operationSnapshot, nil, nil)
}

// Replays returns the replays of the shard. Errors are those of CreateSnapshot.
func (p *Peer) Replays() Replays { return remoteReplays{p} }

type remoteReplays struct{ p *Peer }

// Start implements Replays.
func (r remoteReplays) Start(ctx context.Context, in replay.Request) (out replay.Replay, err error) {
	return out, r.p.callOperation(ctx, operationStartReplay, in, &out)
}

// Cancel implements Replays.
func (r remoteReplays) Cancel(ctx context.Context, id int) (out replay.Replay, err error) {
	return out, r.p.callOperation(ctx, operationCancelReplay, id, &out)
}

// List implements Replays.
func (r remoteReplays) List(ctx context.Context) (out replay.List, err error) {
	return out, r.p.callOperation(ctx, operationListReplays, nil, &out)
}

// callOperation has the shard carry out an operation, and decodes the result unless out is nil.
func (p *Peer) callOperation(ctx context.Context, name string, argument, out any) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	body, err := p.beginOperation(ctx, name, argument)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it is read
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(body, maxResultBytes)).Decode(out); err != nil {
		return fmt.Errorf("decode the result of the operation %q: %w", name, err)
	}
	return nil
}

// beginOperation has the shard carry out an operation, and returns its result, which the caller closes.
func (p *Peer) beginOperation(ctx context.Context, name string, argument any) (io.ReadCloser, error) {
	order := []byte(name)
	if argument != nil {
		encoded, err := json.Marshal(argument)
		if err != nil {
			return nil, err
		}
		order = append(append(order, '\n'), encoded...)
	}
	r, err := p.newRequest(operationPath, order)
	if err != nil {
		return nil, err
	}
	r.Method = http.MethodPost
	response, err := p.send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusAccepted:
		return response.Body, nil
	case response.StatusCode == http.StatusNotFound:
		err = ErrOlderRelease
	default:
		err = fmt.Errorf("%w: %w", ErrOperation, readRefusal(response.Body))
	}
	return nil, errors.Join(err, response.Body.Close())
}

// serveOperation carries out an operation, or begins it.
func (s *Server) serveOperation(ctx context.Context, w http.ResponseWriter, order []byte) {
	name, argument, _ := bytes.Cut(order, []byte("\n"))
	var out any
	var err error
	switch operation := string(name); {
	case operation == operationVerify && s.o.Verify != nil:
		s.serveVerification(ctx, w, argument)
		return
	case operation == operationSnapshot && s.o.CreateSnapshot != nil:
		err = s.o.CreateSnapshot(ctx)
	case operation == operationStartReplay && s.o.Replays != nil:
		var in replay.Request
		if err = json.Unmarshal(argument, &in); err == nil {
			out, err = s.o.Replays.Start(ctx, in)
		}
	case operation == operationCancelReplay && s.o.Replays != nil:
		var id int
		if err = json.Unmarshal(argument, &id); err == nil {
			out, err = s.o.Replays.Cancel(ctx, id)
		}
	case operation == operationListErasures && s.o.Erasures != nil:
		var list []erasure.Erasure
		list, err = s.o.Erasures.List(ctx)
		out = encodeErasures(list)
	case operation == operationCountShared && s.o.Erasures != nil:
		var id code.RepositoryID
		if err = json.Unmarshal(argument, &id); err == nil {
			out, err = s.o.Erasures.CountShared(ctx, id)
		}
	case operation == operationListNamed && s.o.Erasures != nil:
		out, err = s.o.Erasures.ListNamed(ctx)
	case operation == operationListReplays && s.o.Replays != nil:
		out, err = s.o.Replays.List(ctx)
	default:
		http.Error(w, fmt.Sprintf("the operation %.40q is unknown: the front has a newer release", name), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if out != nil {
		_ = json.NewEncoder(w).Encode(out) // the front may be gone
	}
}
