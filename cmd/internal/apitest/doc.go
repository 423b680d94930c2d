// Package apitest holds a running server against its OpenAPI document.
//
// It answers the question "does the server do what the document says, whatever is
// sent?". Its test starts the binary with a small repository, an owner and a member,
// and lets Schemathesis, a Python program, make requests from the document: valid
// ones, invalid ones, and chains of them; as the owner, as the member, and as nobody.
//
//	make api-test   installs Schemathesis into .cache and runs it
//
// # Invariants
//
//  1. All checks are on. schemathesis.toml lists what differs for which operation,
//     and why.
//  2. A run is bounded in time, and its seed is printed.
//
// The package holds no code but tests.
package apitest
