// Package gerrit lists the projects of Gerrit.
//
// It answers the question "which projects match these globs, and what does Gerrit say of
// them?". Open gives the Lister of a connection, which asks GET /projects/, page by page.
// With a user and a token, an HTTP password of Gerrit, it asks below /a/.
//
// # Invariants
//
//  1. The repository's ID comes from the host and the name of the project, as in
//     ingest/gerrit: Gerrit has no other identity.
//  2. All-Projects, All-Users, All-Avatars and All-Archived-Projects hold no code, and
//     are never found.
//  3. What is found with a password is private; what anybody can list is public.
//
// Gerrit does not list default branches: that of a repository is known once it is fetched.
// Requests go through the client of the connection; the package starts no goroutine.
package gerrit
