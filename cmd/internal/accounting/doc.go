// Package accounting determines the outcome of every push in a log, by reading only the
// log.
//
// It answers the question "was any acknowledged push left without an answer?",
// independently of the projection that shows outcomes to users.
//
// # The rule
//
// A push of a ref at offset o is answered by the first RevisionIndexed of that ref whose
// cause is o or later in the same partition, by a PushesHandled that names o, or by a
// dead letter of its position. A refresh of all refs is answered by any event of its
// repository whose cause is o or later.
//
// Read is bounded by the high-water marks at its start. This package changes nothing.
package accounting
