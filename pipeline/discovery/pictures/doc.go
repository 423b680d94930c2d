// Package pictures fetches the pictures of repositories from their code hosts.
//
// It answers the question "what is at the picture URL of this repository, and is it a
// picture that is safe for a browser?". Browsers load pictures only from this server, so
// that no code host learns which repositories a user views.
//
// # Invariants
//
//  1. Requests carry no credentials and no cookies. A picture that requires them is not
//     shown.
//  2. Options.Dial checks every address that is dialed, including those of redirects. The
//     proxy of a connection, which resolves names itself, is used only for the host of
//     that connection, and such a request follows no redirect to another host.
//  3. The type of a picture is determined by its first bytes, regardless of the host's
//     Content-Type: PNG, JPEG, GIF or WebP. SVG, which can contain scripts, is never
//     passed on.
//  4. Everything is bounded: the size of one picture (MaxBytes) and of all cached
//     pictures (maxKeptBytes), the time of a request, and the number of concurrent
//     requests.
//
// A Loader is safe for concurrent use and starts no goroutine. It does not know who may
// read a repository: callers of Load must check that first.
package pictures
