package event

import (
	"encoding/json"
	"unicode/utf8"
)

// A path in git is a byte string, but a JSON string is text. A path that is not UTF-8 is
// therefore written in base64 in another field, so that two paths that differ in an
// invalid byte stay distinct. encoding/json would replace the bytes, which silently
// merges such paths.

// plainChange has Change's fields without its methods.
type plainChange Change

type wireChange struct {
	Path       string `json:"path,omitempty"`
	PathBase64 []byte `json:"pathBase64,omitempty"`
	plainChange
}

// MarshalJSON implements json.Marshaler.
func (c Change) MarshalJSON() ([]byte, error) {
	w := wireChange{Path: c.Path, plainChange: plainChange(c)}
	if !utf8.ValidString(c.Path) {
		w.Path, w.PathBase64 = "", []byte(c.Path)
	}
	return encodeValue(w)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Change) UnmarshalJSON(b []byte) error {
	var w wireChange
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*c = Change(w.plainChange)
	c.Path = w.Path
	if len(w.PathBase64) > 0 {
		c.Path = string(w.PathBase64)
	}
	return nil
}
