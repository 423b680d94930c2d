// Package report turns measurements into the tables of docs/performance.md.
//
// It answers: what was measured, on which machine, and was the goal reached?
//
// Report collects rows and sections in the order in which they are added; Markdown prints
// them. The package is pure, except for Describe, which reads a description of the
// machine from /proc.
package report
