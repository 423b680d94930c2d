// Package generic translates the deliveries of plain git servers
// (genericGitHost), whose format is ours to define.
//
// It answers the question "how does a post-receive hook announce a push?". Open
// returns the translator of a connection. docs/webhooks.md has a hook to copy.
//
// # Format
//
// A JSON object, signed as Standard Webhooks (headers webhook-id,
// webhook-timestamp, webhook-signature; secret whsec_ + base64):
//
//	{"repository": R, "ref": "refs/heads/main", "before": OLD, "after": NEW}
//	{"repository": R, "refs": [{"ref": …, "before": OLD, "after": NEW}, …]}
//	{"repository": R}                    look at every ref
//	(no body)                            the same, of the connection's only repository
//
// R is a clone URL, or a name: one configured for the connection, or that of a
// registered repository. before and after may be left out: look at that ref. All
// zeros mean that the ref did not or does not exist.
//
// # Invariants
//
//  1. The ID of a repository comes from host and path of its clone URL, not from
//     the scheme.
//  2. Unknown fields are refused: a misspelt "refs" must not become "look at
//     everything".
//  3. With a URL configured, clone URLs in a payload must be on its host.
//
// A Translator is immutable. The package does no I/O.
package generic
