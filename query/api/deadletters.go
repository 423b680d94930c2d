package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/ledger"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// DeadLetters provides the dead letters. Errors that wrap code.ErrNotFound become a 404,
// failure.ErrConflict a 409, failure.ErrUnavailable a 503.
type DeadLetters interface {
	// ListDeadLetters returns the known dead letters that the query selects, newest
	// first, and the total number of open ones.
	ListDeadLetters(ctx context.Context, q ledger.DeadLetterQuery) (letters []ledger.DeadLetter, open int, err error)
	// GetDeadLetter returns a dead letter and its record in the log.
	GetDeadLetter(ctx context.Context, at event.Position) (ledger.DeadLetter, event.Record, error)
	// ReplayDeadLetter appends the replacement of a dead letter and resolves it. A dead
	// letter that cannot be replayed, or was superseded, fails with failure.ErrConflict.
	ReplayDeadLetter(ctx context.Context, at event.Position) (event.Position, error)
	// DropDeadLetter resolves a dead letter without a replacement.
	DropDeadLetter(ctx context.Context, at event.Position, reason string) error
}

// maxResolved bounds the dead letters that one request resolves, and those refused in it:
// some seconds of appends.
const maxResolved = 1000

func deadLetterID(at event.Position) string { return fmt.Sprintf("%d-%d", at.Partition, at.Offset) }

func (s *Server) newDeadLetter(l *ledger.DeadLetter) wire.DeadLetter {
	return wire.DeadLetter{
		ID: deadLetterID(l.Position), Position: wire.PositionOf(l.Position), RecordPosition: wire.PositionOf(l.Of),
		Stage: l.Stage, Code: wire.FailureCode(l.Code), Remedy: failure.Describe(l.Code).Message(), Reason: failure.Clean(l.Reason, failure.MaxDetailBytes), Attempts: l.Attempts, Type: string(l.Type),
		RepoID: s.numberOf(l.Repository), RepoName: l.RepositoryName, At: wire.At(l.At), ValueBytes: l.ValueBytes, Copies: l.Copies,
	}
}

// deadLetterQuery reads the filter of a request, and reports whether it has one.
func (s *Server) deadLetterQuery(r *http.Request, p *params) (ledger.DeadLetterQuery, error) {
	q := ledger.DeadLetterQuery{Stage: p.textParam("stage", event.MaxSourceBytes), Type: event.Type(p.textParam("type", event.MaxSourceBytes))}
	repository := p.textParam("repository", code.MaxNameBytes)
	if p.err != nil {
		return q, p.err
	}
	var err error
	q.Repository, err = s.repositoryNamed(r.Context(), repository)
	return q, err
}

func (s *Server) listDeadLetters(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.pageParam()
	q, err := s.deadLetterQuery(r, p)
	if err != nil {
		return nil, err
	}
	letters, open, err := s.o.DeadLetters.ListDeadLetters(r.Context(), q)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	from, to := window.itemRange(len(letters))
	body := wire.DeadLetterPage{Open: open, Letters: make([]wire.DeadLetter, 0, to-from)}
	for i := range letters[from:to] {
		body.Letters = append(body.Letters, s.newDeadLetter(&letters[from+i]))
	}
	out := okReply(body)
	out.header = window.pageHeader(r.URL.Path, len(letters), p, "stage", "type", "repository")
	return out, nil
}

func (s *Server) showDeadLetter(r *http.Request) (*reply, error) {
	at, err := deadLetterPosition(r)
	if err != nil {
		return nil, err
	}
	l, rec, err := s.o.DeadLetters.GetDeadLetter(r.Context(), at)
	if err != nil {
		return nil, err
	}
	return okReply(newDeadLetterDetails(s.newDeadLetter(&l), event.Original(rec))), nil
}

// newDeadLetterDetails returns a dead letter with its original record.
func newDeadLetterDetails(l wire.DeadLetter, given event.Record) wire.DeadLetterDetails {
	body := wire.DeadLetterDetails{
		ID: l.ID, Position: l.Position, RecordPosition: l.RecordPosition, Stage: l.Stage, Code: l.Code, Remedy: l.Remedy, Reason: l.Reason,
		Attempts: l.Attempts, Type: l.Type, RepoID: l.RepoID, RepoName: l.RepoName, At: l.At, ValueBytes: l.ValueBytes, Copies: l.Copies,
		Key: printableText(given.Key), Headers: make([]wire.RecordHeader, len(given.Headers)),
	}
	for i, h := range given.Headers {
		body.Headers[i] = wire.RecordHeader{Name: h.Name, Value: printableText(h.Value)}
	}
	if body.Value = string(given.Value); !utf8.Valid(given.Value) {
		body.Value, body.ValueBase64 = "", given.Value
	}
	if _, decoded, err := event.Decode(given); err != nil {
		body.Unreadable = err.Error()
	} else {
		body.Event = mustEncode(decoded)
	}
	return body
}

// printableText converts bytes that should be text to printable text.
func printableText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strconv.Quote(string(b))
}

func (s *Server) replayDeadLetter(r *http.Request) (*reply, error) {
	at, err := deadLetterPosition(r)
	if err != nil {
		return nil, err
	}
	by, err := s.o.DeadLetters.ReplayDeadLetter(r.Context(), at)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return acceptedReply(wire.Resolved{ID: deadLetterID(at), Resolution: wire.ResolvedResolutionReplayed, ResolvedBy: wire.PositionOf(by)}), nil
}

func (s *Server) dropDeadLetter(r *http.Request) (*reply, error) {
	at, err := deadLetterPosition(r)
	if err != nil {
		return nil, err
	}
	p := queryParams(r)
	reason := p.textParam("reason", event.MaxReasonBytes)
	if p.err != nil {
		return nil, p.err
	}
	if err := s.o.DeadLetters.DropDeadLetter(r.Context(), at, reason); err != nil {
		return nil, fmt.Errorf("drop: %w", err)
	}
	return acceptedReply(wire.Resolved{ID: deadLetterID(at), Resolution: wire.ResolvedResolutionDropped}), nil
}

func (s *Server) replayDeadLetters(r *http.Request) (*reply, error) {
	return s.resolveDeadLetters(r, func(at event.Position) error {
		_, err := s.o.DeadLetters.ReplayDeadLetter(r.Context(), at)
		return err
	})
}

func (s *Server) dropDeadLetters(r *http.Request) (*reply, error) {
	reason := queryParams(r).textParam("reason", event.MaxReasonBytes) // resolveDeadLetters reports invalid reasons
	return s.resolveDeadLetters(r, func(at event.Position) error { return s.o.DeadLetters.DropDeadLetter(r.Context(), at, reason) })
}

// resolveDeadLetters resolves the dead letters that a request selects, oldest first. A
// refused one does not block the rest; an error of the log ends the operation.
func (s *Server) resolveDeadLetters(r *http.Request, resolve func(event.Position) error) (*reply, error) {
	p := queryParams(r)
	p.textParam("reason", event.MaxReasonBytes)
	all := p.boolParam("all")
	q, err := s.deadLetterQuery(r, p)
	if err != nil {
		return nil, err
	}
	if !all && q == (ledger.DeadLetterQuery{}) {
		return nil, fmt.Errorf("%w: want stage, type or repository, or all=true for all dead letters", errMissingParam)
	}
	letters, _, err := s.o.DeadLetters.ListDeadLetters(r.Context(), q)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	out := wire.ResolvedAll{Refused: []wire.Refusal{}, Remaining: len(letters)}
	for i := len(letters) - 1; i >= 0 && out.Resolved < maxResolved && len(out.Refused) < maxResolved; i-- {
		at := letters[i].Position
		err := resolve(at)
		switch {
		case err == nil, errors.Is(err, code.ErrNotFound): // a concurrent request has resolved it
			out.Resolved++
			out.Remaining--
		case errors.Is(err, failure.ErrConflict):
			out.Refused = append(out.Refused, wire.Refusal{ID: deadLetterID(at), Message: err.Error()})
		default:
			return nil, fmt.Errorf("%d dead letters are resolved: %w", out.Resolved, err)
		}
	}
	return acceptedReply(out), nil
}

// deadLetterPosition reads {partition} and {offset} from the path.
func deadLetterPosition(r *http.Request) (event.Position, error) {
	vars := mux.Vars(r)
	partition, err1 := strconv.ParseUint(vars["partition"], 10, 31)
	offset, err2 := strconv.ParseUint(vars["offset"], 10, 63)
	if err1 != nil || err2 != nil {
		return event.Position{}, fmt.Errorf("%w: want partition and offset, such as 2/170, have %.40q", errPathParams, vars["partition"]+"/"+vars["offset"])
	}
	return event.Position{Topic: event.TopicDeadLetters, Partition: int32(partition), Offset: event.Offset(offset)}, nil
}
