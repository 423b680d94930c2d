// Package stat summarizes durations.
//
// It answers: which one figure stands for many runs?
//
// Median and Quantile return one of the durations, never a mean of two. The package is pure.
package stat
