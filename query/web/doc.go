// Package web serves the pages that people need in a browser: to get in, to make
// an API key, to look after members, and to read what a link of the API leads to.
//
// It answers the question "which page is shown, and what does its form do?". Pages
// are rendered here, from templates in pages/ and one style sheet in static/, and
// work without scripts. The main types are Server and Options. One file per page:
//
//	home.go      /
//	setup.go     /setup, the one-time link that makes the first owner
//	signin.go    /sign-in, /sign-out, /welcome
//	provider.go  /auth/oidc/{name}, …/callback
//	invite.go    /invite
//	keys.go      /settings/keys, …/new, …/delete
//	sessions.go  /settings/sessions
//	profile.go   /settings/profile, …/password
//	members.go   /settings/members, invitations
//	browse.go    /browse/…, directories; blob.go and lines.go, files
//
// Pages call auth.Service, not the API over HTTP. The layers before every request
// (its ID, its name in metrics, the checks of host and origin, limits and rates)
// are Options.Around, which is the API's.
//
// # Invariants
//
//  1. What changes something is a POST, from a page of this origin (Around), with
//     a token of the signed-in user's where there is one, and answered by a
//     redirect. Only the answer that shows a new key or invitation is a page
//     itself: the value is stored nowhere to be shown later.
//  2. A page runs nothing and loads nothing from elsewhere; its
//     Content-Security-Policy says so. It may not be framed or cached.
//  3. The visitor is known by session only; pages about code also take the
//     credentials of the API, since programs follow its links (Code). A page that
//     needs more than there is leads to /sign-in and back, within this server
//     (returnPath).
//  4. Messages are ours: nothing that a provider or another user sent is shown as
//     an error, and no failure of the server but its request ID.
//  5. Text of a repository becomes markup in appendText only. Raw text is sent as
//     plain text into a sandbox.
//
// A Server is safe for concurrent use and starts no goroutine.
package web
