package segmentstore

// ParseChanges is the fast path of the parser, for its fuzz test.
var ParseChanges = parseChanges

// QuarantinePath returns the path for an object that is found damaged at a given time.
var QuarantinePath = quarantinePath
