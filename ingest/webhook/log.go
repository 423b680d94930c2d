package webhook

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Each delivery is logged with one line. Accepted deliveries come from senders that know
// a secret. Anyone can send the rest, so each result of each connection may log a burst
// of ten lines and then one per second; the next line reports how many were suppressed.

// logSamplers limit the log lines of failures, by result.
type logSamplers map[string]*refusalLimiter

func newLogSamplers(results []string) logSamplers {
	s := logSamplers{}
	for _, result := range results {
		s[result] = new(refusalLimiter)
	}
	return s
}

// logTaken logs a delivery that was accepted, ignored or recognized as a duplicate.
func (r *Receiver) logTaken(req *http.Request, c *connection, a answer, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("delivery_id", a.DeliveryID), slog.String("connection", c.Name), slog.String("repository", repositoryName(a.repository)),
		slog.Uint64("repository_id", uint64(a.repository.ID)), slog.String("address", req.RemoteAddr),
	}
	message := "delivery accepted"
	switch {
	case a.Ignored != "":
		message = "delivery ignored"
		attrs = append(attrs, slog.String("reason", a.Ignored))
	case a.Duplicate:
		message = "delivery repeated"
	default:
		attrs = append(attrs, slog.String("outcome", a.outcome))
		if a.Hint != "" {
			attrs = append(attrs, slog.String("hint", a.Hint))
		}
	}
	if n := len(a.Positions); n > 0 {
		attrs = append(attrs, slog.Int("events", n), slog.String("position", a.Positions[n-1].String()))
	}
	if id := tracing.TraceID(req.Context()); id != "" {
		attrs = append(attrs, slog.String(tracing.IDKey, id))
	}
	r.o.Logger.LogAttrs(req.Context(), slog.LevelInfo, message, append(attrs, slog.Duration("duration", took))...)
}

// logFailure logs why a delivery was not accepted. Its ID comes from the sender, verified
// or not.
func (r *Receiver) logFailure(req *http.Request, c *connection, result string, err error) {
	sampled, name, id := r.unknownSamplers, unknownLabel, ""
	if c != nil {
		sampled, name = c.logSamplers, c.Name
		id = ingest.Text(c.translator.DeliveryID(&ingest.Request{Header: req.Header}), event.MaxDeliveryIDBytes)
	}
	suppressed, ok := sampled[result].tryTake(r.o.Now())
	if !ok {
		return
	}
	r.o.Logger.LogAttrs(req.Context(), slog.LevelWarn, "delivery not accepted",
		slog.String("delivery_id", id), slog.String("connection", name), slog.String("result", result),
		slog.String("address", req.RemoteAddr), slog.Int64("suppressed", suppressed), slog.Any("error", err))
}
