// Package authtest has accounts in memory, for tests of packages that use
// query/auth.
//
// It answers the question "what would the directory say?" without a log and a
// store: a Directory is an auth.Directory and the auth.Appender that feeds it. It
// follows the rules of the account events (schemas/event), one event after the
// other, as projections/accounts does.
//
// # Concurrency
//
// A Directory is safe for concurrent use. Its values are not changed once they are
// given out.
package authtest
