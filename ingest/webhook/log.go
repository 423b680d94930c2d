package webhook

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Each delivery has one line in the log of the process. Accepted deliveries come
// from senders that know a secret. Anybody can send the others, so for each result
// of each connection ten lines are written at once and one a second, and the next
// line says how many were suppressed.

// samplers bound the lines of failures by result.
type logSamplers map[string]*refusalLimiter

func newLogSamplers(results []string) logSamplers {
	s := logSamplers{}
	for _, result := range results {
		s[result] = new(refusalLimiter)
	}
	return s
}

// logTaken says what happened to a delivery that was taken, ignored or repeated.
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
	}
	if n := len(a.Positions); n > 0 {
		attrs = append(attrs, slog.Int("events", n), slog.String("position", a.Positions[n-1].String()))
	}
	r.o.Logger.LogAttrs(req.Context(), slog.LevelInfo, message, append(attrs, slog.Duration("duration", took))...)
}

// logFailure says why a delivery was not taken. Its ID is what the sender says,
// verified or not.
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
	r.o.Logger.LogAttrs(req.Context(), slog.LevelWarn, "delivery not taken",
		slog.String("delivery_id", id), slog.String("connection", name), slog.String("result", result),
		slog.String("address", req.RemoteAddr), slog.Int64("suppressed", suppressed), slog.Any("error", err))
}
