package segmentstore

// ParseChanges is the short way of the parser, for its fuzz test.
var ParseChanges = parseChanges

// QuarantinePath is where an object goes that is found damaged at a moment.
var QuarantinePath = quarantinePath
