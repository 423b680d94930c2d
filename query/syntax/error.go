package syntax

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrInvalid matches every *Error in errors.Is.
var ErrInvalid = errors.New("invalid query")

// Error explains why a text is not a query, where, and what to write instead.
type Error struct {
	Message  string // what is wrong, without a period
	Position int    // byte offset in the query
	Column   int    // the same place in code points, 1-based
	Advice   string // what to do about it, one sentence
	Query    string // the query, cut after maxErrorQuery bytes

	corrected string // the query that may have been meant; empty if none is known
}

// maxErrorQuery bounds the part of a query that an error repeats, in bytes.
const maxErrorQuery = 1024

// Error returns the message, the column and the advice in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("invalid query at column %d: %s. %s", e.Column, e.Message, e.Advice)
}

// Is reports whether target is ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

func newError(text string, position int, message, advice string) *Error {
	position = min(position, len(text))
	shown := text
	if len(shown) > maxErrorQuery {
		cut := maxErrorQuery
		for cut > 0 && !utf8.RuneStart(shown[cut]) {
			cut--
		}
		shown = shown[:cut]
	}
	return &Error{
		Message:  message,
		Position: position,
		Column:   utf8.RuneCountInString(text[:position]) + 1,
		Advice:   advice,
		Query:    shown,
	}
}
