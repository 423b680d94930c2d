package account

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// LowerEmail returns an e-mail address in lower case. It returns "" for an address with a
// non-ASCII letter whose lower case is ASCII, such as the Kelvin sign: the result would
// be the address of another person.
func LowerEmail(email string) string {
	for _, r := range email {
		if r >= utf8.RuneSelf && unicode.ToLower(r) < utf8.RuneSelf {
			return ""
		}
	}
	return strings.ToLower(email)
}
