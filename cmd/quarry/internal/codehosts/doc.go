// Package codehosts knows the code hosts of the connections in the settings.
//
// It answers the question "which hosts may this process reach, and with which
// credentials?".
//
// # Main types
//
//	Hosts          the current hosts: policy, access of git, clients of their APIs
//	Connections    the connections that accept webhooks or are discovered, with secrets
//	Installations  the tokens of GitHub Apps
//
// # Files
//
//	hosts.go                      the table of hosts; which may be private or behind a proxy
//	access.go                     how git accesses a repository: token, key, SSH address
//	policy.go                     git.allowedNetworks and similar settings as mirror.Policy
//	apptokens.go                  GitHub Apps, and clients of the hosts' APIs
//	connections.go                the settings as ingest.Connection and discovery.Connection
//	listers.go, translators.go    a row for each kind of code host
//
// # Invariants
//
//  1. The credentials, key, proxy and CAs of a connection are used only for its
//     repositories on its host.
//  2. A token is sent unencrypted only if the connection's own URL is http.
//  3. A token file is read for each fetch, so that a new token takes effect immediately.
//  4. Private hosts are reached only if the operator names them.
//
// # Concurrency
//
// Hosts is safe for concurrent use; Replace may change it while it is used.
//
// This package sends no request.
package codehosts
