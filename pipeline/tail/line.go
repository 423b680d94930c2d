package tail

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Line is the printed form of a record, with the member names of CloudEvents.
type Line struct {
	Position string     `json:"position"`
	Time     time.Time  `json:"time"`
	ID       string     `json:"id,omitempty"`
	Source   string     `json:"source,omitempty"`
	Type     event.Type `json:"type,omitempty"`
	Subject  string     `json:"subject,omitempty"`
	Data     any        `json:"data,omitempty"`
	// Error is the reason if Data is missing.
	Error string `json:"error,omitempty"`
}

// NewLine converts rec to a Line.
func NewLine(rec event.Record) Line {
	l := Line{Position: rec.Position.String(), Time: rec.Time}
	envelope, data, err := event.Decode(rec)
	if err != nil {
		l.Error = err.Error()
		return l
	}
	l.ID, l.Source, l.Type, l.Subject, l.Data = envelope.ID, envelope.Source, envelope.Type, envelope.Subject, data
	return l
}
