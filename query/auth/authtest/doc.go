// Package authtest provides in-memory accounts for tests of packages that use query/auth.
//
// It answers the question "what would the directory return?" without a log and a store: a
// Directory implements auth.Directory and the auth.Appender that feeds it. It applies the
// rules of the account events (schemas/event), one event after another, as
// projections/accounts does.
//
// # Concurrency
//
// A Directory is safe for concurrent use. Returned values are immutable.
package authtest
