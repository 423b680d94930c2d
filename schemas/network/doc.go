// Package network says what an address stands for.
//
// It answers the questions "is this our own machine?" and "which addresses are one
// client's?". It resolves no name: a name may lead anywhere, and elsewhere the next time.
package network
