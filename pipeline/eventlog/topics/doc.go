// Package topics defines the topics of a log, reports their state, and compares it with
// their specification.
//
// It answers the question "would these topics keep the truth?".
//
//	ReportEmbedded, ReportKafka  report the state of each topic and its deviations from its Spec
//	EnsureKafka                  creates missing topics, refuses settings that lose events
//	CheckTarget, CreateTarget    do so for the target of a copy (package logcopy)
//	ReadEnds, LastRecordTime     report the ends of all topics of a log
//
// # Invariants
//
//  1. Only EnsureKafka, CreateTarget, and ReportKafka with create, change anything, and
//     they only create topics.
//  2. A deviation that deletes events or accounts prevents a start, unless the Spec
//     allows it; all other deviations cause a warning.
//
// It reads no configuration; the caller that opens the log does.
package topics
