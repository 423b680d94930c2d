package migrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// decodeJSON decodes JSON that may contain comments and commas before closing brackets.
func decodeJSON(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(stripComments(text)))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if d.More() {
		return fmt.Errorf("%w: text after the JSON value", ErrFormat)
	}
	return nil
}

// stripComments replaces // and /* */ comments, and commas before a closing bracket, with
// blanks. Strings stay unchanged.
func stripComments(text []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	comma := -1 // the last comma with nothing after it yet
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i = endOfString(out, i)
			comma = -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := endOfComment(out, i)
			for j := i; j < end; j++ {
				if out[j] != '\n' {
					out[j] = ' '
				}
			}
			i = end - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// endOfString returns the index of the quote that ends the string at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// endOfComment returns the index after the comment at i.
func endOfComment(text []byte, i int) int {
	end, skip := []byte("\n"), 0
	if text[i+1] == '*' {
		end, skip = []byte("*/"), 2
	}
	if n := bytes.Index(text[i+2:], end); n >= 0 {
		return i + 2 + n + skip
	}
	return len(text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// object reads typed values of a JSON object. A value of another type counts as missing
// and is noted.
type object struct {
	r      *Result
	where  string // empty, or ends with a dot
	values map[string]any
}

func (o object) text(key string) string {
	s, ok := o.values[key].(string)
	if !ok && o.values[key] != nil {
		o.r.addNote("%s%s: not a string, not taken", o.where, key)
	}
	return s
}

func (o object) flag(key string) bool {
	b, ok := o.values[key].(bool)
	if !ok && o.values[key] != nil {
		o.r.addNote("%s%s: not true or false, not taken", o.where, key)
	}
	return b
}

func (o object) number(key string) int64 {
	if o.values[key] == nil {
		return 0
	}
	n, _ := o.values[key].(json.Number)
	i, err := n.Int64()
	if err != nil || i < 0 {
		o.r.addNote("%s%s: not a whole number of 0 or more, not taken", o.where, key)
		return 0
	}
	return i
}

func (o object) list(key string) []string {
	values, ok := o.values[key].([]any)
	if !ok && o.values[key] != nil {
		o.r.addNote("%s%s: not a list, not taken", o.where, key)
	}
	var texts []string
	for _, v := range values {
		if s, ok := v.(string); ok && s != "" {
			texts = append(texts, s)
		} else {
			o.r.addNote("%s%s: a value is not a string, not taken", o.where, key)
		}
	}
	return texts
}

func (o object) child(key string) object {
	values, ok := o.values[key].(map[string]any)
	if !ok && o.values[key] != nil {
		o.r.addNote("%s%s: not an object, not taken", o.where, key)
	}
	return object{o.r, o.where + key + ".", values}
}
