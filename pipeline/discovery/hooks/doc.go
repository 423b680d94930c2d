// Package hooks registers the webhooks of connections through the APIs of code hosts.
//
// It answers the question "does this host send its pushes here, and if not, make it".
// Open gives the Registrar of a connection; each of its targets is an organization, a
// group, a workspace, a project or a repository that can have a webhook.
//
//	kind             targets with webhooks
//	github           orgs, repos
//	gitlab           groups, projects
//	gitea            orgs, repos
//	bitbucketServer  projects, repos
//	bitbucketCloud   workspaces, repos
//	azuredevops      orgs, projects, repos; a subscription for each kind of event
//
// Other kinds, and other targets, get theirs by hand: ErrByHand. The caller replaces users
// and all by the repositories that they find.
//
// # Invariants
//
//  1. A webhook is ours if its URL is that of the connection on this server, and its target
//     that of the connection. No other one is changed or removed.
//  2. Install makes only what is absent.
//  3. The secret is sent to the host of the connection alone, and is in no error.
//
// Requests go through the client of the connection; the package starts no goroutine.
package hooks
