// Package web serves the pages that people need in a browser: to get in, to make
// an API key, to look after members, and to read what a link of the API leads to.
//
// It answers the question "which page is shown, and what does its form do?". Pages
// are rendered here and work without scripts; scripts improve what is there (ADR 25).
// The main types are Server and Options.
//
//	pages/      templates; base.html is the frame of all, in two halves, open and close
//	styles/     the style sheet: tokens, frame, then what pages are made of
//	scripts/    the sources of scripts: each file is the script of a page (view.script),
//	            lib/ is shared; icons.txt names the icons of the sprite
//	text/       en.json, all texts of newer pages and of scripts, by key
//	static/     images, and what TestBundleIsCurrent makes of scripts/ (make generate)
//
// One file per page:
//
//	home.go      /
//	search.go    /search: streamed results; searchparams.go the address, searchfiles.go files,
//	             searchstate.go what is said of the whole, searchfacets.go facets
//	contexts.go  /search/contexts: names for the search box
//	help.go      /syntax, /shortcuts, /opensearch.xml
//	preferences.go  /preferences: theme, density, keys, in a cookie
//	setup.go     /setup, the one-time link that makes the first owner
//	signin.go    /sign-in, /sign-out, /welcome
//	provider.go  /auth/oidc/{name}, …/callback
//	invite.go    /invite
//	keys.go      /settings/keys, …/new, …/delete
//	sessions.go  /settings/sessions
//	profile.go   /settings/profile, …/password
//	members.go   /settings/members, invitations
//	symbols.go   /symbols: definitions and references of a name
//	palette.go   /find: files, repositories, symbols and pages by a few letters
//	repositories.go  /repos, /admin/register; repository.go /repos/{id}, …/skipped
//	why.go       /why, the reason for which a file is not found
//	deliveries.go  /deliveries, …/{key}
//	admin.go     /admin; connections.go, deadletters.go, replays.go, verification.go and
//	             auditlog.go what is below it
//	browse.go    /browse/…: which repository and revision; codepage.go, what its pages
//	             have in common; missing.go, the 404
//	file.go      …/-/blob/…, with outline.go, blame.go and rendered.go; raw.go, …/-/raw/…
//	tree.go      …/-/tree/…; treepane.go, the pane of files
//	history.go   …/-/commits/…
//	commit.go    …/-/commit/…, …/-/compare/…
//	editor.go    /preferences/editor: the program that opens files
//
// Pages of accounts call auth.Service. Those about repositories and the operation of the
// server call operations of the API in this process, as the visitor (operations.go), so
// that they show, refuse and record what the API does. The layers before every request
// (its ID, its name in metrics, the checks of host and origin, limits and rates)
// are Options.Front, which the API uses too.
//
// # Invariants
//
//  1. What changes something is a POST, from a page of this origin (Front), with
//     a token of the signed-in user's where there is one, and answered by a
//     redirect. Only the answer that shows a new key or invitation is a page
//     itself: the value is stored nowhere to be shown later.
//
//  2. A page runs and loads nothing from elsewhere and nothing inline; its
//     Content-Security-Policy says so (pagePolicy). It may not be framed. A page is
//     not cached, or is asked for again each time (view.revalidates).
//
//  3. The visitor is known by session only; pages about code also take the
//     credentials of the API, since programs follow its links (Code). A page that
//     needs more than there is leads to /sign-in and back, within this server
//     (returnPath).
//
//  4. Messages are ours: nothing that a provider or another user sent is shown as
//     an error, and no failure of the server but its request ID.
//
//  5. Text of a repository becomes markup in codehtml, diffhtml and document only, which
//     are internal. A page shows one commit. Raw text is sent as
//     plain text into a sandbox.
//
//  6. What a link of another site makes a browser ask for is not compressed, and the token of
//     forms is masked for each address (compress.go).
//
// A Server is safe for concurrent use. It starts one goroutine for each operation that answers
// in frames (verification.go), which ends with its page.
package web
