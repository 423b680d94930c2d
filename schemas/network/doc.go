// Package network classifies network addresses.
//
// It answers the questions "is this the local machine?" and "which addresses belong to
// one client?". It does not resolve names: a name may resolve to any address, and to
// another one the next time.
package network
