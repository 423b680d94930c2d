// Package oidctest runs a real OpenID Connect provider for tests: oidc-provider from npm,
// which is certified, on loopback.
//
// It answers the question "does a sign-in work with an independent implementation?". The
// main type is Provider. Its accounts sign in without a password; its clock can be moved,
// so that codes and tokens expire without waiting.
//
// It also finds a browser for tests that walk through the pages.
//
// If node, the package or the browser is missing, tests that need it are skipped, or fail
// if QUARRY_REQUIRE_ALL=1. `make node` fetches the package.
package oidctest
