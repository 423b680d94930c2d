// Package generic translates the deliveries of plain git servers (genericGitHost), whose
// format Quarry defines.
//
// It answers the question "how does a post-receive hook announce a push?". Open returns
// the translator of a connection. docs/webhooks.md contains a hook to copy.
//
// # Format
//
// A JSON object, signed as Standard Webhooks (headers webhook-id,
// webhook-timestamp, webhook-signature; secret whsec_ + base64):
//
//	{"repository": R, "ref": "refs/heads/main", "before": OLD, "after": NEW}
//	{"repository": R, "refs": [{"ref": …, "before": OLD, "after": NEW}, …]}
//	{"repository": R}                    look up every ref
//	(no body)                            the same, for the connection's only repository
//
// R is a clone URL or a name: one configured for the connection, or that of a registered
// repository. Without before and after, the ref is looked up in git. All zeros mean that
// the ref did not or does not exist.
//
// # Invariants
//
//  1. The ID of a repository comes from host and path of its clone URL, not from
//     the scheme.
//  2. Unknown fields are rejected: a misspelled "refs" must not become "look up every
//     ref".
//  3. If the connection has a URL, clone URLs in a payload must be on its host.
//
// A Translator is immutable. The package does no I/O.
package generic
