// Package pebblelog writes to the log what Pebble reports.
//
// It answers the question "what does an operator see when a store cannot go on?": one
// line with the directory, the error and the remedy, and the end of the process.
// Errors are errors; notices, which are about files, are at the debug level.
//
// It does not import Pebble: Logger has the methods of pebble.Logger.
package pebblelog
