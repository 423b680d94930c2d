// Package accounting says of every push in a log what happened to it, by reading
// the log and nothing else.
//
// It answers the question "was any push that was acknowledged left without an
// answer?", independently of the projection that answers it to users.
//
// # The rule
//
// A push of a ref at offset o is answered by the first RevisionIndexed of that
// ref whose cause is o or later in the same partition, by a PushesHandled that
// names o, or by a dead letter of its position. A refresh of all refs is answered
// by any event of its repository whose cause is o or later.
//
// Read is bounded by the high-water marks at its start. The package changes
// nothing.
package accounting
