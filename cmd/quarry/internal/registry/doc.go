// Package registry lists the registered repositories, and registers new ones.
//
// It answers the question "is this repository registered, and how does it become so?".
//
// # Files
//
//	catalog.go    the live catalog as api.Catalog; by ID, name or clone URL
//	webhooks.go   the same as webhook.Repositories
//	discovery.go  the same as discovery.Catalog
//	registrar.go  the log as api.Registrar, with the policy on clone URLs
//
// # Invariants
//
//  1. A repository is not listed before it has a number.
//  2. While the projections lag behind the log, a webhook of an unknown repository is an
//     error: a code host does not repeat a delivery that was ignored.
//  3. Nothing is discovered from a snapshot of the past.
//  4. A repository that the policy on clone URLs refuses is not registered.
//
// # Concurrency
//
// Catalog and Registrar are safe for concurrent use once SetNumbers has been called.
//
// This package does not decide who may register: query/api does.
package registry
