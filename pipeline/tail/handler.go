package tail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxStreams bounds the number of concurrent streams, because each holds a reader per
// partition.
const maxStreams = 8

// HeaderNotice is the header that says where a stream begins later than it was asked to, once for
// each such partition.
const HeaderNotice = "Quarry-Notice"

// Handler serves the log as JSON lines: GET ?from=POSITION&follow=true. Streams that follow
// the log end when stopping is closed.
func Handler(log eventlog.Log, stopping <-chan struct{}, logger *slog.Logger) http.Handler {
	streams := make(chan struct{}, maxStreams)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, err := ParsePosition(r.FormValue("from"))
		if err != nil {
			writeError(w, http.StatusBadRequest, "INVALID_QUERY_PARAMS", err)
			return
		}
		o.Follow = r.FormValue("follow") == "true"
		select {
		case streams <- struct{}{}:
			defer func() { <-streams }()
		default:
			writeError(w, http.StatusServiceUnavailable, "TOO_MANY_REQUESTS", errors.New("too many streams of events at once; try again later"))
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		if o.Follow {
			go func() {
				select {
				case <-stopping:
					cancel()
				case <-ctx.Done():
				}
			}()
		}
		serveStream(ctx, w, log, o, logger)
	})
}

func serveStream(ctx context.Context, w http.ResponseWriter, log eventlog.Log, o Options, logger *slog.Logger) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	encoder, controller := json.NewEncoder(w), http.NewResponseController(w)
	o.Begins = func(partition int32, first event.Offset) {
		w.Header().Add(HeaderNotice, fmt.Sprintf("the records of partition %d before %d were deleted from the log", partition, first))
	}
	begun := false
	err := Stream(ctx, log, o, func(rec event.Record) error {
		begun = true
		if err := encoder.Encode(NewLine(rec)); err != nil {
			return err
		}
		if !o.Follow {
			return nil
		}
		return controller.Flush()
	})
	switch {
	case err == nil, errors.Is(err, context.Canceled):
	case begun:
		// The status has been sent, so the error can only be logged.
		logger.Warn("event stream interrupted", "error", err)
		panic(http.ErrAbortHandler)
	case errors.Is(err, ErrPosition), errors.Is(err, eventlog.ErrOffsetOutOfRange):
		writeError(w, http.StatusBadRequest, "INVALID_QUERY_PARAMS", err)
	default:
		logger.Warn("event stream failed", "error", err)
		writeError(w, http.StatusServiceUnavailable, "LOG_UNAVAILABLE", errors.New("the event log cannot be read now; try again later"))
	}
}

func writeError(w http.ResponseWriter, status int, code string, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failed write of the response cannot be reported to the client.
	_ = json.NewEncoder(w).Encode(map[string]any{"statusCode": status, "errorCode": code, "message": err.Error()})
}
