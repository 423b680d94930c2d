// Package netguard decides which network addresses requests to code hosts may reach.
//
// It answers the question "may this process connect there?" for git and for the clients
// of the hosts' APIs. Clone URLs come from hosts, webhooks and people: one that leads to
// the metadata service of a cloud, or to a database of the same network, must not be
// fetched, whatever its name resolves to at which moment.
//
// Main type: Guard. Lookup returns the checked addresses of a host, for programs that
// take an address; DialContext is for http.Transport.
//
// # Invariants
//
//  1. The address that is checked is the one that is dialed. No name is resolved again
//     in between.
//  2. A denied network wins over an allowed one.
//  3. One address out of bounds refuses the host: which of several is dialed is chance.
//  4. An IPv4 address within an IPv6 address is checked as the IPv4 address, too.
//
// The host of a redirect is dialed by the same DialContext, and so checked.
package netguard
