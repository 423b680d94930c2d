package segmentstore

// ParseChanges is the short way of the parser, for its fuzz test.
var ParseChanges = parseChanges
