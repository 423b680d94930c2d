// Package host simulates a code host: repositories that change at random, and the
// webhooks that announce the changes.
//
// It answers the question "what should a search find now?". A Repository is a bare git
// repository together with a model of it: the files of every branch, each with a token
// that is in no other version of any file, except in a fork. Every push goes both to git
// and to the model, so that Want returns exactly which tokens a search must find in which
// file of which branch; no other token may be found.
//
// A Sender delivers the pushes of one repository in order. Like hosts, it redelivers what
// was not acknowledged under the same ID.
//
// # Invariants
//
//  1. The same seed gives the same pushes of a repository, whatever the server
//     does.
//  2. A delivery counts as acknowledged only after it got 202.
//  3. Pushes wait for their delivery in a queue of at most maxPending. While the queue is
//     full, nothing is pushed.
package host
