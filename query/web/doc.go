// Package web serves the pages that people use in a browser: to sign in, to create an API
// key, to manage members, and to read the pages that the API links to.
//
// It answers the question "which page is shown, and what does its form do?". Pages are
// rendered here and work without scripts; scripts enhance them (ADR 25). The main types
// are Server and Options.
//
//	pages/      templates; base.html is the frame of all pages, in two halves, open and close
//	styles/     the style sheet: tokens, frame, then the components of pages
//	scripts/    the sources of scripts: each file is the script of a page (view.script),
//	            lib/ is shared; icons.txt names the icons of the sprite
//	text/       en.json, the texts of newer pages and of scripts, by key
//	static/     images, and what TestBundleIsCurrent builds from scripts/ (make generate)
//
// One file per page:
//
//	addresses.go the path of the public URL in templates
//	home.go      /
//	search.go    /search: streamed results; searchparams.go the address, searchfiles.go files,
//	             searchstate.go the summary of the results, searchfacets.go facets
//	groups.go    /search/groups: matches by repository, language, directory or extension
//	contexts.go  /search/contexts: the page of search contexts, and names for the search box
//	help.go      /syntax, /shortcuts, /opensearch.xml
//	preferences.go  /preferences: theme, density, keys, in a cookie
//	setup.go     /setup, the one-time link that creates the first owner
//	signin.go    /sign-in, /sign-out, /welcome
//	provider.go  /auth/oidc/{name}, …/callback
//	invite.go    /invite; onetime.go the values of such links
//	keys.go      /settings/keys, …/new, …/delete
//	sessions.go  /settings/sessions
//	profile.go   /settings/profile, …/password
//	members.go   /settings/members, invitations
//	symbols.go   /symbols: definitions and references of a name
//	palette.go   /find: files, repositories, symbols and pages by a few letters
//	repositories.go  /repos, /admin/register; repository.go /repos/{id}, …/skipped
//	why.go       /why, the reason why a file is not found
//	deliveries.go  /deliveries, …/{key}
//	admin.go     /admin; connections.go, deadletters.go, replays.go, verification.go and
//	             auditlog.go the pages below it
//	browse.go    /browse/…: which repository and revision; codepage.go, what its pages
//	             have in common; missing.go, the 404
//	file.go      …/-/blob/…, with outline.go, blame.go and rendered.go; raw.go, …/-/raw/…
//	tree.go      …/-/tree/…; treepane.go, the pane of files
//	history.go   …/-/commits/…
//	commit.go    …/-/commit/…, …/-/compare/…
//	editor.go    /preferences/editor: the editor that opens files
//
// Pages about accounts call auth.Service. Pages about repositories and the administration
// of the server call operations of the API in this process, as the visitor
// (operations.go), so that they show, refuse and record what the API does. Options.Front
// wraps every request in the same layers as the API: request ID, name in metrics, checks
// of host and origin, limits and rates.
//
// # Invariants
//
//  1. Every change is a POST, from a page of this origin (Front), with a token of the
//     signed-in user if there is one, and is answered by a redirect. Only the responses
//     that show a new key or invitation are pages themselves: the value is not stored,
//     so it cannot be shown later.
//
//  2. A page runs and loads nothing from elsewhere and nothing inline; its
//     Content-Security-Policy enforces that (pagePolicy). It may not be framed. A page is
//     either not cached or revalidated each time (view.revalidates).
//
//  3. The visitor is identified by a session only; pages about code also accept the
//     credentials of the API, since programs follow its links (Code). A page that
//     requires more permissions leads to /sign-in and back, within this server
//     (returnPath).
//
//  4. All messages are ours: no text from a provider or another user is shown as an
//     error, and of a server failure only its request ID.
//
//  5. Text of a repository becomes markup only in codehtml, diffhtml and document, which
//     are internal. A page shows one commit. Raw text is sent as plain text into a
//     sandbox.
//
//  6. Responses to requests that another site initiates are not compressed, and the
//     token of forms is masked for each address (compress.go).
//
// A Server is safe for concurrent use. It starts one goroutine for each operation that
// streams frames (verification.go), which ends with its page.
package web
