// Package pebblelog writes Pebble's messages to the log.
//
// It answers the question "what does an operator see when a store cannot continue?": one
// line with the directory, the error and the remedy, then the process exits. Errors are
// logged at the error level; notices about files are logged at the debug level.
//
// It does not import Pebble: Logger merely has the methods of pebble.Logger.
package pebblelog
