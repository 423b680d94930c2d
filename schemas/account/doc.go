// Package account defines the people and programs that send requests: users, what
// they sign in with, the keys they create, and what they may see.
//
// It answers the question "who may this be, and what may they do?" for the events
// that record it (schemas/event), the projection that keeps it
// (projections/accounts) and the package that decides by it (query/auth). The main
// types are User, Key, Token, Session, Invitation, Access and Actor.
//
// # Invariants
//
//  1. No type holds a secret that could be used: passwords are argon2id hashes,
//     keys, tokens, sessions and invitations are keyed hashes (HMAC-SHA256 in
//     hexadecimal).
//  2. The zero Role, Scope and Visibility give nothing.
//
// The package imports the standard library and schemas/code only; its values are
// plain and not changed once they are shared.
package account
