package ingest

import (
	"cmp"
	"errors"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// refNameError means that the name of a ref is not valid.
type refNameError struct{ reason error }

func (e *refNameError) Error() string   { return ErrInvalidPayload.Error() + ": " + e.reason.Error() }
func (e *refNameError) Unwrap() []error { return []error{ErrInvalidPayload, e.reason} }

// Moves collects the refs that a delivery moved. A ref with a name that Quarry does not
// accept does not affect the others. The zero value is ready to use.
type Moves struct {
	pushes  []event.Push
	reasons []error // why the others were refused
	first   error   // of the first of them
}

// Add adds the result of Move. It returns an error that is not about the name of the ref.
func (m *Moves) Add(p event.Push, err error) error {
	var invalid *refNameError
	switch {
	case errors.As(err, &invalid):
		m.reasons, m.first = append(m.reasons, invalid.reason), cmp.Or(m.first, err)
	case err != nil:
		return err
	default:
		m.pushes = append(m.pushes, p)
	}
	return nil
}

// Complete returns d with the pushes and the reasons why other refs were refused. Without
// pushes, d is ignored if git accepts one of the names, and otherwise invalid. It returns
// d unchanged if no ref was added.
func (m *Moves) Complete(d Delivery) (Delivery, error) {
	unsupported := false
	for _, reason := range m.reasons {
		d.RefusedRefs = append(d.RefusedRefs, reason.Error())
		unsupported = unsupported || errors.Is(reason, code.ErrUnsupportedRef)
	}
	d.Pushes = m.pushes
	switch {
	case len(m.pushes) > 0 || len(m.reasons) == 0:
		return d, nil
	case !unsupported:
		return Delivery{}, m.first
	}
	d.Outcome, d.Reason = Ignored, d.RefusedRefs[0]
	return d, nil
}
