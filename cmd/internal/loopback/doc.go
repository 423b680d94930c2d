// Package loopback finds addresses for servers of tests and measurements.
//
// It answers the question "where can a server listen that is started in a moment?".
// FreeAddress returns a loopback address whose port no other program takes in between.
package loopback
