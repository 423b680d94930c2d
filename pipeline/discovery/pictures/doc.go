// Package pictures fetches the pictures of repositories from their code hosts.
//
// It answers the question "what is at the picture URL of this repository, and is it a
// picture that a browser may show?". Browsers load pictures from this server alone, so
// that no code host learns who looks at which repository.
//
// # Invariants
//
//  1. Requests carry no credential and no cookie. A picture that needs one is not shown.
//  2. Every address that is dialed is checked by Options.Dial, those of redirects too. The
//     proxy of a connection, which resolves names itself, is used for the host of that
//     connection alone, and such a request follows no redirect to another host.
//  3. The type of a picture is that of its first bytes, whatever the host says: PNG, JPEG,
//     GIF or WebP. Scripts can hide in SVG, which is never passed on.
//  4. Everything is bounded: the bytes of one picture (MaxBytes), of all that are kept
//     (maxKeptBytes), the time of a request, and the requests at once.
//
// A Loader is safe for concurrent use and starts no goroutine. It does not know who may
// see a repository: the callers of Load check that first.
package pictures
