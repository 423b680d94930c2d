// Package oidc signs people in with OpenID Connect providers.
//
// It answers the question "which person has this provider authenticated, and did the sign-in
// begin in this browser?". The flow is the authorization code flow with PKCE (S256),
// state and nonce; a provider calls back at {publicUrl}/auth/oidc/{name}/callback. The
// main types are Client, which holds all configured providers, Departure and Arrival.
//
//	Client.Depart   returns the address to redirect a browser to, and the cookie that binds it
//	Client.Arrive   returns the person that the provider has authenticated
//
// auth.Service decides who may then sign in.
//
// # Invariants
//
//  1. An arrival carries the cookie of its departure: signed with a key derived from the
//     server's secret, not older than MaxFlowAge, for the same provider and state, and
//     accepted once per process. Its code is valid for one exchange at the provider, which
//     needs the verifier in the cookie.
//  2. A token counts if the provider has signed it with an asymmetric key, for this
//     client, for this flow's nonce, and it is valid now, allowing for MaxSkew.
//  3. An e-mail address counts if the provider asserts that it is verified, or if the
//     configuration trusts the provider's addresses.
//  4. The text of a sentinel error contains nothing that a provider or a browser sent;
//     details are for the log.
//  5. The server starts without its providers. Their metadata is fetched when it is first
//     needed, and again after an error, at most once per retryInterval.
//
// Sign-ins that a provider initiates, and sign-outs at the provider, are out of scope: a
// session of Quarry ends in Quarry.
//
// All types are safe for concurrent use.
package oidc
