// Package netguard decides which network addresses requests to code hosts may reach.
//
// It answers the question "may this process connect to this address?" for git and for the
// clients of the hosts' APIs. Clone URLs come from hosts, webhooks and users. A URL that
// leads to the metadata service of a cloud, or to a database on the same network, must
// not be fetched, whatever its name resolves to and when.
//
// Main type: Guard. Lookup returns the checked addresses of a host, for programs that
// take an address; DialContext is for http.Transport.
//
// # Invariants
//
//  1. The address that is checked is the address that is dialed. The name is not resolved
//     again in between.
//  2. A denied network takes precedence over an allowed one.
//  3. A host is refused if one of its addresses is refused, because any of them may be
//     dialed.
//  4. An IPv4 address embedded in an IPv6 address is checked as well.
//
// Redirects use the same DialContext, so their hosts are checked, too.
package netguard
