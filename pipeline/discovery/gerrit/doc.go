// Package gerrit lists the projects of Gerrit.
//
// It answers the question "which projects match these globs, and how does Gerrit describe
// them?". Open returns the Lister of a connection, which requests GET /projects/, page by
// page. With a user and a token, which is an HTTP password of Gerrit, it uses paths under
// /a/.
//
// # Invariants
//
//  1. The repository's ID comes from the host and the name of the project, as in
//     ingest/gerrit: Gerrit has no other identity.
//  2. All-Projects, All-Users, All-Avatars and All-Archived-Projects hold no code and are
//     never found.
//  3. Projects listed with a password are private; projects that anyone can list are
//     public.
//
// Gerrit does not list default branches: the default branch of a repository is known once
// it is fetched. Requests go through the client of the connection; the package starts no
// goroutine.
package gerrit
