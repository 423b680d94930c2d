// Package codehosts knows the code hosts of the connections in the settings.
//
// It answers the question "which hosts may this process reach, and with which credentials?".
//
// # Main types
//
//	Hosts          the hosts in effect: policy, access of git, clients of their APIs
//	Connections    the connections that accept webhooks or are discovered, with secrets
//	Installations  the tokens of GitHub Apps
//
// # Files
//
//	hosts.go                      the table of hosts; where they may be private or behind a proxy
//	access.go                     how git reaches a repository: token, key, address by SSH
//	policy.go                     git.allowedNetworks and its like as mirror.Policy
//	apptokens.go                  GitHub Apps, and clients of the hosts' APIs
//	connections.go                the settings as ingest.Connection and discovery.Connection
//	listers.go, translators.go    a row for each kind of code host
//
// # Invariants
//
//  1. Credentials, key, proxy and authorities of a connection are for its repositories on
//     its host alone.
//  2. A token is sent unencrypted only if the connection's own URL is http.
//  3. A token in a file is read for each fetch: a new one counts at once.
//  4. Hosts that are private are reached only if the operator names them.
//
// # Concurrency
//
// Hosts is safe for concurrent use; Replace changes it while it is used.
//
// It sends no request.
package codehosts
