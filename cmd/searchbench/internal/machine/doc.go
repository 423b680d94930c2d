// Package machine says what the machine itself can do, and takes files out of its memory.
//
// It answers: how fast can all cores read and copy memory, so that a scan can be held against it? And is this file really cold?
//
// Linux only. MeasureBandwidth holds bufferBytes per core for as long as it runs.
package machine
