// Package publicurl is the address at which people reach the server, which may be below a
// path of a host.
//
// It answers the question "at which address do people reach the server, and what follows
// for links, redirects and cookies?". The main type is URL.
//
// Inside the process, addresses are as at the root of a host: handlers route, compare and
// redirect to paths such as /repos. The path of the URL is added and removed only at the
// edges (ADR 41):
//
//	URL.Handler     removes it from requests, and adds it to redirects and to Link headers
//	URL.Resolve     adds it to the addresses on pages and in scripts
//	URL.String      is the beginning of absolute links, which the API and MCP return
//	URL.CookieName  and URL.CookiePath limit cookies to it
//
// # Invariants
//
//  1. The path is never that of a page, so an address below it is recognized, and Resolve
//     changes no address twice (reserved).
//
//  2. A proxy may pass the path on or remove it. Nothing that a request claims changes
//     links, redirects or cookies: no header such as X-Forwarded-Prefix is read.
package publicurl
