// Package oidc signs people in with OpenID Connect providers.
//
// It answers the question "who does this provider say has come back, and did they
// leave from this browser?". The flow is the authorization code flow with PKCE
// (S256), state and nonce; a provider calls back at
// {publicUrl}/auth/oidc/{name}/callback. The main types are Client, which has all
// configured providers, Departure and Arrival.
//
//	Client.Depart   the address to send a browser to, and the cookie that binds it
//	Client.Arrive   what the provider says of the person that came back
//
// auth.Service decides who may then sign in: see there.
//
// # Invariants
//
//  1. An arrival has the cookie of its departure: signed with a key of the server's
//     secret, not older than MaxFlowAge, for the same provider and state, and taken
//     once per process. Its code is good for one exchange at the provider, which
//     needs the verifier of the cookie.
//  2. A token counts if the provider has signed it with an asymmetric key, for us,
//     for this flow's nonce, and it is in force, MaxSkew allowed for.
//  3. An e-mail address counts if the provider says that it is verified, or if the
//     configuration trusts the provider in that.
//  4. The text of a sentinel contains nothing that a provider or a browser sent;
//     details are for the log.
//  5. The server starts without its providers. Their metadata is fetched when it is
//     first needed, and again after an error, at most once in retryInterval.
//
// Sign-ins that a provider starts by itself, and sign-outs at the provider, are out
// of scope: a session of Quarry ends in Quarry.
//
// All types are safe for concurrent use.
package oidc
