package contract

import (
	"fmt"
	"strconv"
)

// Fault describes what is wrong with a request.
type Fault struct {
	// Field is the parameter, or the path to the member of a body, such as branches[2];
	// empty for the body itself.
	Field string
	// Want describes a valid value.
	Want string
	// Have is the invalid value, truncated; empty if it is missing.
	Have string
}

// Error implements error.
func (f *Fault) Error() string {
	switch {
	case f.Have == "":
		return fmt.Sprintf("%s is required: want %s", f.Field, f.Want)
	case f.Field == "":
		return fmt.Sprintf("want %s, have %s", f.Want, f.Have)
	}
	return fmt.Sprintf("%s: want %s, have %s", f.Field, f.Want, f.Have)
}

// Empty reports whether f reports that the text of a field is empty.
func (f *Fault) Empty(field string) bool { return f.Field == field && f.Have == formatCharacters(0) }

// prefixField returns f as the fault of a member of name.
func (f *Fault) prefixField(name string) *Fault {
	switch {
	case f.Field == "" || f.Field[0] == '[':
		f.Field = name + f.Field
	default:
		f.Field = name + "." + f.Field
	}
	return f
}

// maxHaveBytes bounds what a Fault shows of a value.
const maxHaveBytes = 40

func quoteText(text string) string {
	if len(text) > maxHaveBytes {
		return fmt.Sprintf("%.*q...", maxHaveBytes, text)
	}
	return strconv.Quote(text)
}
