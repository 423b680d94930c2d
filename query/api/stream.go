package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// streamSearch handles POST /api/stream_search: it returns the results of /api/search in
// parts, as they are found. An error before the first part is a normal error response; a
// later one is a frame.
func (s *Server) streamSearch(w http.ResponseWriter, r *http.Request) error {
	in, err := s.parseSearch(r)
	if err != nil {
		return err
	}
	ctx, err := s.awaitPosition(r, in.minPosition)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.SearchTimeout)
	defer cancel()
	view, coverage, err := s.openView(ctx)
	if in.coverage = coverage; err != nil {
		return fmt.Errorf("search: %w", err)
	}
	defer view.Release()
	f := newFrameWriter(w, front.ExchangeIn(r.Context()).Control(), s.o.PartTimeout, time.Now().Add(s.o.SearchTimeout+s.o.WriteTimeout))
	defer f.close()
	result, err := s.o.Searcher.Stream(ctx, view, in.Request, func(files []search.FileMatch, stats search.Stats) error {
		if len(files) == 0 {
			return f.writeLine(": the search continues", nil) // a comment, which readers skip
		}
		return f.sendFiles(s, files, stats)
	})
	if err == nil {
		defer result.Release()
		return s.finishStream(ctx, f, in, result)
	}
	if err = searchError(r, err); !f.begun {
		return err
	}
	if f.err == nil {
		f.sendError(err, front.ExchangeIn(r.Context()).ID())
	}
	return err
}

// finishStream sends the final frame.
func (s *Server) finishStream(ctx context.Context, f *frameWriter, in *parsedSearch, result *search.Result) error {
	response := s.newSearchResponse(ctx, in, result)
	if response.IncompleteReason != "" {
		s.metrics.limited.WithLabelValues(response.IncompleteReason).Inc()
	}
	var err error
	if len(result.Repositories) > 0 {
		err = f.sendFrame(&wire.StreamFrame{
			Type: wire.StreamFrameTypeChunk, Stats: response.Stats, Files: []wire.SearchFile{}, RepositoryInfo: response.RepositoryInfo,
		})
	}
	err = errors.Join(err, f.sendFrame(&wire.StreamFrame{
		Type: wire.StreamFrameTypeFinal, AccumulatedStats: response.Stats, IsSearchExhaustive: &response.IsSearchExhaustive,
		IncompleteReason: response.IncompleteReason, Position: response.Position, Notices: response.Notices, Related: response.Related, Facets: response.Facets, Explain: response.Explain,
	}), f.sendLine("[DONE]"))
	if err != nil {
		return err
	}
	// The connection may serve more requests, which are not all bounded.
	_ = f.control.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout))
	return nil
}

// frameWriter writes the frames of a stream: lines "data: …", each followed by an empty
// line. It keeps its first error.
type frameWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration // for one write
	end     time.Time     // of the whole response
	begun   bool
	err     error
	out     *jsonout.Writer
}

func newFrameWriter(w http.ResponseWriter, control *http.ResponseController, limit time.Duration, end time.Time) *frameWriter {
	f := &frameWriter{w: w, control: control, limit: limit, end: end}
	f.out = jsonout.New(deadlineWriter{f})
	return f
}

// close releases the buffer of f.
func (f *frameWriter) close() { f.out.Free() }

// deadlineWriter sets a deadline for every write of a stream. It ignores writers that do
// not support deadlines, as in tests.
type deadlineWriter struct{ *frameWriter }

// Write implements io.Writer.
func (t deadlineWriter) Write(b []byte) (int, error) {
	deadline := time.Now().Add(t.limit)
	if t.end.Before(deadline) {
		deadline = t.end
	}
	_ = t.control.SetWriteDeadline(deadline)
	return t.w.Write(b)
}

// beginAnswer sends the headers.
func (f *frameWriter) beginAnswer() {
	if f.begun {
		return
	}
	f.begun = true
	h := f.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no")
	f.w.WriteHeader(http.StatusOK)
}

// sendLine sends one frame with text that contains no line feeds.
func (f *frameWriter) sendLine(text string) error { return f.writeLine("data: "+text, nil) }

// sendFrame sends v as JSON.
func (f *frameWriter) sendFrame(v any) error {
	return f.sendLine(string(bytes.TrimRight(mustEncode(v), "\n")))
}

// sendFiles sends a part, with the stats and the repositories of that part only. Like
// searchResponse, it writes the files one at a time.
func (f *frameWriter) sendFiles(s *Server, files []search.FileMatch, stats search.Stats) error {
	repositories := repositoryInfos{server: s}
	for i := range files {
		repositories.add(files[i].Repo)
	}
	part := wire.StreamFrame{Type: wire.StreamFrameTypeChunk, Stats: newSearchStats(&search.Result{Stats: stats}), RepositoryInfo: repositories.listInfos()}
	part.Stats.FlushReason = flushReasonPart
	return f.writeLine("data: ", func(out *jsonout.Writer) error { return s.writeFiles(out, files, &part) })
}

// writeLine writes a line that consists of text and the output of rest, and flushes it.
// JSON contains no line feeds here, so it is one line.
func (f *frameWriter) writeLine(text string, rest func(*jsonout.Writer) error) error {
	if f.err != nil {
		return f.err
	}
	f.beginAnswer()
	f.out.Raw(text)
	var err error
	if rest != nil {
		err = rest(f.out)
	}
	f.out.Raw("\n\n")
	if e := f.out.Flush(); err == nil {
		err = e
	}
	if e := f.control.Flush(); err == nil && !errors.Is(e, http.ErrNotSupported) {
		err = e
	}
	if err != nil {
		f.err = fmt.Errorf("write the answer: %w", err)
	}
	return f.err
}

// sendError sends an error frame.
func (f *frameWriter) sendError(err error, requestID string) {
	_ = f.sendFrame(&wire.StreamFrame{Type: wire.StreamFrameTypeError, Error: newError(err, requestID)}) // the reader may have disconnected
}
