// Package apitest checks a running server against its OpenAPI document.
//
// It answers the question "does the server do what the document says, whatever is
// sent?". Its test starts the binary with a small repository, an owner and a member,
// and lets Schemathesis, a Python program, make requests from the document: valid
// ones, invalid ones, and chains of them; as the owner, the member, the operator and
// an anonymous caller.
//
//	make api-test   installs Schemathesis into .cache and runs it
//
// # Invariants
//
//  1. All checks are on, for every operation alike. A request that fits the document
//     and is refused for its meaning gets an error code for that; hooks.py checks
//     this, and lists the operations whose code is that of a malformed request.
//  2. A run is bounded in time, and its seed is printed.
//
// The package holds no code but tests.
package apitest
