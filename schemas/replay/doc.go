// Package replay defines the types for rebuilds of the projections.
//
// It answers the question "what is a replay, and how far has it progressed?". A replay
// builds a version of the projections from the log, next to the live one, and switches to
// it; a rollback switches back to the previous version.
//
// The package that builds versions fills in these types, and the package that shows them
// maps them once. They hold no locks and no behavior.
package replay
