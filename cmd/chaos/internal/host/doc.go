// Package host simulates a code host: repositories that change at random, and the
// webhooks that announce the changes.
//
// It answers the question "what ought to be found now?". A Repository is a bare
// git repository together with a model of it: the files of every branch, each
// with a token that no other version of any file has, but for those of a fork. Whatever is pushed to git
// is pushed to the model, so that Want says exactly which tokens a search must
// find in which file of which branch; every other token must not be found.
//
// A Sender delivers the pushes of one repository in their order and, as hosts do,
// delivers again, under the same ID, what was not acknowledged.
//
// # Invariants
//
//  1. The same seed gives the same pushes of a repository, whatever the server
//     does.
//  2. A delivery counts as acknowledged when it got 202, never before.
//  3. Pushes wait for their delivery in a queue of at most maxPending; with a full
//     one nothing is pushed.
package host
