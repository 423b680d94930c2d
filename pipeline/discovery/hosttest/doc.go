// Package hosttest contains the contract that every lister of pipeline/discovery must
// satisfy, and the test servers for it.
//
// It answers the question "does discovery of this kind of host find everything, and how
// does it handle unexpected responses?". Each kind provides a Suite: the responses of its
// API according to its documentation, and the targets that lead to the repositories.
//
//	Server   an API with paging, ETags, a rate limit and faults
//	Run      lists through it, completely and with each fault
//
// The Server is independent of the kind: the kind's handler writes responses with
// WriteJSON.
package hosttest
