// Package eventlogtest is the conformance suite of event logs.
//
// It answers the question "does this driver keep the contract of eventlog.Log?". A
// driver's test calls Run with a Driver that can create empty logs; every guarantee of
// the contract that a test can observe is one subtest.
//
// Main types: Driver, Run.
//
// The suite waits for events, never for a duration.
package eventlogtest
