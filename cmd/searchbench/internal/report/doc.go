// Package report turns measurements into the tables of docs/performance.md.
//
// It answers: what was measured, on which machine, and was the goal reached?
//
// Report collects rows and sections in the order they are added; Markdown prints them. The package is pure except for Describe, which reads what the
// machine is from /proc.
package report
