// Package replay has the words for rebuilds of the projections.
//
// It answers the question "what is a replay, and how far is it?". A replay builds a
// version of the projections from the log, next to the live one, and switches to it; a
// rollback returns to the version before.
//
// Whoever makes versions fills these types in, and whoever shows them maps them once.
// They hold no locks and no behavior.
package replay
