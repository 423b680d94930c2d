package generic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// body is the payload.
type body struct {
	Repository string    `json:"repository"`
	Ref        string    `json:"ref"`
	Before     string    `json:"before"`
	After      string    `json:"after"`
	Forced     *bool     `json:"forced"`
	Refs       []refMove `json:"refs"`
	Pusher     string    `json:"pusher"`
	Time       time.Time `json:"time"`
}

type refMove struct {
	Ref    string `json:"ref"`
	Before string `json:"before"`
	After  string `json:"after"`
	Forced *bool  `json:"forced"`
}

func (t *Translator) translatePayload(payload []byte) (ingest.Delivery, error) {
	// Some senders prepend a byte order mark.
	payload = bytes.TrimSpace(bytes.TrimPrefix(payload, []byte("\ufeff")))
	if len(payload) == 0 {
		r, err := t.onlyRepository()
		if err != nil {
			return ingest.Delivery{}, err
		}
		return refreshDelivery(r), nil
	}
	var b body
	if err := decodeStrict(payload, &b); err != nil {
		return ingest.Delivery{}, err
	}
	r, err := t.bodyRepository(&b)
	if err != nil {
		return ingest.Delivery{}, err
	}
	return b.toDelivery(r)
}

func (t *Translator) bodyRepository(b *body) (code.Repository, error) {
	if b.Repository == "" {
		return t.onlyRepository()
	}
	return t.resolveRepository(b.Repository)
}

func (b *body) toDelivery(r code.Repository) (ingest.Delivery, error) {
	moves := b.Refs
	switch {
	case b.Ref != "" && len(moves) > 0:
		return ingest.Delivery{}, fmt.Errorf("%w: ref and refs: want one of them", ingest.ErrInvalidPayload)
	case b.Ref != "":
		moves = []refMove{{b.Ref, b.Before, b.After, b.Forced}}
	case b.Before != "" || b.After != "":
		return ingest.Delivery{}, fmt.Errorf("%w: before and after need a ref", ingest.ErrInvalidPayload)
	case len(moves) == 0:
		return refreshDelivery(r), nil
	case len(moves) > ingest.MaxPushes:
		return ingest.Delivery{}, fmt.Errorf("%w: %d refs, at most %d: send {\"repository\": …} alone to look at all", ingest.ErrInvalidPayload, len(moves), ingest.MaxPushes)
	}
	var pushed ingest.Moves
	for _, m := range moves {
		if err := pushed.Add(b.toPush(m)); err != nil {
			return ingest.Delivery{}, err
		}
	}
	return pushed.Complete(ingest.Delivery{Outcome: ingest.Pushed, Repository: r})
}

func (b *body) toPush(m refMove) (event.Push, error) {
	p, err := ingest.Move(m.Ref, m.Before, m.After)
	if err != nil {
		return p, err
	}
	if m.Forced != nil {
		p.Forced = fmt.Sprint(*m.Forced)
	}
	p.Pusher = ingest.Text(b.Pusher, event.MaxPusherBytes)
	if !b.Time.IsZero() {
		p.HostTime = b.Time.UTC()
	}
	return p, nil
}

func refreshDelivery(r code.Repository) ingest.Delivery {
	return ingest.Delivery{Outcome: ingest.Pushed, Repository: r, Pushes: []event.Push{{Action: event.ActionRefresh}}}
}

// decodeStrict decodes one JSON object and rejects unknown fields.
func decodeStrict(payload []byte, b *body) error {
	// A first pass tells malformed JSON, with its position, from an unexpected structure.
	if err := ingest.DecodeJSON(payload, b); err != nil {
		return err
	}
	if payload[0] != '{' {
		return fmt.Errorf("%w: want a JSON object", ingest.ErrInvalidPayload)
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(new(body)); err != nil {
		return fmt.Errorf("%w: %w", ingest.ErrInvalidPayload, err)
	}
	return nil
}
