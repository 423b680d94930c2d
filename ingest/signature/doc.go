// Package signature checks that a webhook delivery comes from a sender that knows the
// secret.
//
// It answers the question "is this body authentic?" for the schemes of the code hosts. It
// also signs in these schemes, for senders and tests:
//
//	HMAC               hex HMAC-SHA256 of the body after a fixed prefix:
//	                   "sha256=" for GitHub and both Bitbuckets, none for Gitea
//	StandardWebhooks   "v1," + base64 HMAC-SHA256 of id.timestamp.body, several
//	                   separated by spaces, within a window of time; GitLab's
//	                   signing token and generic senders
//	Token              the secret itself, in a header: GitLab, bearer tokens
//	Basic              user and password of HTTP basic: Azure DevOps
//
// # Invariants
//
//  1. Comparisons take the same time wherever the difference is, and every
//     secret is tried even after one has matched.
//  2. An empty secret never matches, and neither does an empty signature.
//  3. Nothing of a secret or of the expected value appears in an error.
//
// Functions are pure and safe for concurrent use. The package does not read
// HTTP headers, clocks or configuration.
package signature
