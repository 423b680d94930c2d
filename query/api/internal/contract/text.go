package contract

import (
	"strconv"
	"time"
)

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// checkText checks a value in a path or query.
func (s *schema) checkText(text string) *Fault {
	switch s.kind {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !s.inBounds(float64(n)) {
			return &Fault{Want: s.want, Have: quoteText(text)}
		}
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !s.inBounds(n) {
			return &Fault{Want: s.want, Have: quoteText(text)}
		}
	case "boolean":
		if text != "true" && text != "false" {
			return &Fault{Want: s.want, Have: quoteText(text)}
		}
	case "string":
		return s.checkString(text)
	}
	return nil
}

// inBounds reports whether n is within the bounds.
func (s *schema) inBounds(n float64) bool {
	if s.minimum != nil && (n < *s.minimum || s.exclusive && n == *s.minimum) {
		return false
	}
	return s.maximum == nil || n <= *s.maximum
}
