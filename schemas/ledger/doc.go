// Package ledger has the words for what became of a delivery.
//
// It answers the question "what was delivered, what became of each push, and what was given
// up?". The projections return these types, cmd/quarry adds what spans two of them, and
// query/api maps them to the bodies of its answers.
//
// The types hold no locks and no behavior.
package ledger
