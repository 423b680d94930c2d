// Package topics says which topics a log has, how they are, and how they should be.
//
// It answers the question "would these topics keep the truth?".
//
//	ReportEmbedded, ReportKafka  how each topic is, and what deviates from its Spec
//	EnsureKafka                  creates what is missing, and refuses what deletes the truth
//	ReadEnds, LastRecordTime     how far all topics of a log are
//
// # Invariants
//
//  1. Only EnsureKafka and ReportKafka with create change anything, and they only create.
//  2. A deviation that deletes events or accounts prevents a start, unless the Spec allows
//     it; all others are warned of.
//
// It reads no configuration: who opens the log does.
package topics
