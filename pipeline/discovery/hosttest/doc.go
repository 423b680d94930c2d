// Package hosttest is the contract that every lister of pipeline/discovery is held to, and
// the servers of code hosts that it needs.
//
// It answers the question "does discovery of this kind of host find everything, and what
// does it say if the host does not answer as it should?". A kind gives a Suite: how its
// API answers, as its documentation shows it, and which targets lead to the repositories.
//
//	Server   an API with paging, ETags, a rate limit and faults
//	Run      lists through it, whole and with each fault
//
// The Server knows no kind: the handler of a kind writes its answers with WriteJSON.
package hosttest
