// Package machine measures the machine itself, and evicts files from its memory.
//
// It answers: how fast can all cores read and copy memory, as a reference for scans? And
// is this file really cold?
//
// Linux only. MeasureBandwidth uses two buffers of memory per core while it runs.
package machine
