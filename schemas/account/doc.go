// Package account defines the people and programs that send requests: users, their
// sign-in methods, the keys they create, and the repositories they may see.
//
// It answers the question "who may this be, and what may they do?" for the events that
// record it (schemas/event), the projection that stores it (projections/accounts) and the
// package that authorizes callers with it (query/auth). The main types are User, Key,
// Token, Session, Invitation, Access and Actor.
//
// # Invariants
//
//  1. No type holds a usable secret: passwords are argon2id hashes, keys, tokens,
//     sessions and invitations are keyed hashes (HMAC-SHA256 in hexadecimal).
//  2. The zero Role, Scope and Visibility grant nothing.
//
// The package imports only the standard library and schemas/code. Its values must not be
// modified once they are shared.
package account
