// Package ledger defines the types for the outcomes of deliveries.
//
// It answers the question "what was delivered, what was the outcome of each push, and
// what was given up?". The projections return these types, cmd/quarry fills in fields
// that need two projections, and query/api maps them to the bodies of its answers.
//
// The types hold no locks and no behavior.
package ledger
