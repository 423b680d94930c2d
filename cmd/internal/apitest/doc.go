// Package apitest checks a running server against its OpenAPI document.
//
// It answers the question "does the server do what the document describes, whatever is
// sent?". Its test starts the binary with a small repository, an owner and a member, and
// runs Schemathesis, a Python program, which generates requests from the document: valid
// ones, invalid ones, and chains of them; as the owner, the member, the operator and an
// anonymous caller.
//
//	make api-test   installs Schemathesis into .cache and runs it
//
// # Invariants
//
//  1. All checks are on for every operation. A request that matches the document
//     and is rejected for its meaning gets a specific error code; hooks.py checks
//     this, and lists the operations that return the code of a malformed request.
//  2. A run is bounded in time, and its seed is printed.
//
// This package contains only tests.
package apitest
