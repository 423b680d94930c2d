// Package hooks registers the webhooks of connections through the APIs of code hosts.
//
// It answers the question "does this host send its pushes here, and if not, how is that
// set up?". Open returns the Registrar of a connection. Each of its targets is an
// organization, group, workspace, project or repository that can have a webhook.
//
//	kind             targets with webhooks
//	github           orgs, repos
//	gitlab           groups, projects
//	gitea            orgs, repos
//	bitbucketServer  projects, repos
//	bitbucketCloud   workspaces, repos
//	azuredevops      orgs, projects, repos; a subscription for each kind of event
//
// Webhooks of other kinds and targets must be registered manually: ErrByHand. The caller
// replaces the targets users and all with the repositories that they find.
//
// # Invariants
//
//  1. A webhook is ours if its URL is the one of the connection on this server, and its
//     target is a target of the connection. No other webhook is changed or removed.
//  2. Install creates only missing webhooks.
//  3. The secret is sent only to the host of the connection, and appears in no error.
//
// Requests go through the client of the connection; the package starts no goroutine.
package hooks
