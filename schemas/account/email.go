package account

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// LowerEmail returns an e-mail address in lower case. It is empty for one with a letter beyond
// ASCII whose lower case is in ASCII, such as the sign of Kelvin: it would become the address of
// somebody else.
func LowerEmail(email string) string {
	for _, r := range email {
		if r >= utf8.RuneSelf && unicode.ToLower(r) < utf8.RuneSelf {
			return ""
		}
	}
	return strings.ToLower(email)
}
