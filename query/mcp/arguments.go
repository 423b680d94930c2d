package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// errArguments means that the arguments of a call do not fit its tool.
var errArguments = errors.New("arguments")

// param describes an argument of a tool. Both the schema and the checks derive from it.
type param struct {
	name, about string
	alias       string // another name that is accepted, or empty
	kind        kind
	required    bool
	// least and most bound a number, or the length of a text in bytes.
	least, most int
	words       []string
	hidden      bool // accepted, but omitted from the schema
	def         any  // of the type that arguments holds; nil means the zero value
}

// unset is the default of a number that depends on other arguments.
const unset = -1

type kind string

const (
	kindText   kind = "string"
	kindNumber kind = "integer"
	kindFlag   kind = "boolean"
)

func textParam(name string, most int, about string) param {
	return param{name: name, kind: kindText, most: most, about: about, def: ""}
}

func requiredParam(name string, most int, about string) param {
	return param{name: name, kind: kindText, least: 1, most: most, about: about, required: true}
}

func numberParam(name string, least, most, def int, about string) param {
	return param{name: name, kind: kindNumber, least: least, most: most, def: def, about: about}
}

// flagParam returns a flag that is false unless given.
func flagParam(name, about string) param {
	return param{name: name, kind: kindFlag, def: false, about: about}
}

// choiceParam returns a param with one of a few values; the first is the default.
func choiceParam(name, about string, words ...string) param {
	return param{name: name, kind: kindText, words: words, def: words[0], about: about}
}

// hideParam omits a param from the schema.
func hideParam(p param) param {
	p.hidden = true
	return p
}

// property is a param in JSON Schema. It omits bounds, because agents pay for each word
// of a schema; the error for an argument out of bounds names them.
type property struct {
	Type        kind     `json:"type"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Default     any      `json:"default,omitempty"`
}

func (p *param) schemaProperty() property {
	out := property{Type: p.kind, Description: p.about, Enum: p.words}
	if p.def != "" && p.def != unset && p.def != 0 && p.def != false && p.words == nil && p.about == "" {
		out.Default = p.def
	}
	return out
}

// schemaOf returns the JSON Schema of the arguments, with the params in their order,
// because models fill them in as listed.
func schemaOf(params []param) json.RawMessage {
	needed, listed := []string{}, 0
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	for i := range params {
		p := &params[i]
		if p.hidden {
			continue
		}
		if listed++; listed > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", p.name, encode(p.schemaProperty()))
		if p.required {
			needed = append(needed, p.name)
		}
	}
	b.WriteByte('}')
	if len(needed) > 0 {
		fmt.Fprintf(&b, `,"required":%s`, encode(needed))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// arguments holds the arguments of a call by name, with defaults for absent ones:
// strings, ints and bools.
type arguments map[string]any

func (a arguments) getText(name string) string { return a[name].(string) }
func (a arguments) getNumber(name string) int  { return a[name].(int) }
func (a arguments) getFlag(name string) bool   { return a[name].(bool) }

// optionalFlag returns an optional flag, and whether it was given.
func (a arguments) optionalFlag(name string) (value, ok bool) {
	value, ok = a[name].(bool)
	return value, ok
}

// parse parses arguments. Null counts as absent, because some clients send every argument
// they know.
func parse(params []param, raw json.RawMessage) (arguments, error) {
	given := map[string]any{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fmt.Errorf("%w: want a JSON object", errArguments)
		}
	}
	out := arguments{}
	for i := range params {
		p := &params[i]
		value, ok := given[p.name]
		if !ok && p.alias != "" {
			value, ok = given[p.alias]
		}
		delete(given, p.name)
		delete(given, p.alias)
		if !ok || value == nil {
			if p.required {
				return nil, fmt.Errorf("%w: %s is required: %s", errArguments, p.name, p.about)
			}
			out[p.name] = p.def
			continue
		}
		var err error
		if out[p.name], err = p.readValue(value); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errArguments, p.name, err)
		}
	}
	for name := range given {
		return nil, fmt.Errorf("%w: unknown argument %.40q; valid arguments are %s", errArguments, name, namesOf(params))
	}
	return out, nil
}

func namesOf(params []param) string {
	if len(params) == 0 {
		return "none"
	}
	names := make([]string, len(params))
	for i := range params {
		names[i] = params[i].name
	}
	return strings.Join(names, ", ")
}

func (p *param) readValue(value any) (any, error) {
	switch v := value.(type) {
	case string:
		if p.kind == kindText {
			return v, p.checkText(v)
		}
	case bool:
		if p.kind == kindFlag {
			return v, nil
		}
	case float64:
		if p.kind != kindNumber {
			break
		}
		if v != math.Trunc(v) || v < float64(p.least) || v > float64(p.most) {
			return nil, fmt.Errorf("want a number of %d to %d, have %v", p.least, p.most, v)
		}
		return int(v), nil
	}
	return nil, fmt.Errorf("want a value of type %s", p.kind)
}

func (p *param) checkText(v string) error {
	switch {
	case p.words != nil:
		if !slices.Contains(p.words, v) {
			return fmt.Errorf("want one of %s, have %.40q", strings.Join(p.words, ", "), v)
		}
	case len(v) < p.least:
		return errors.New("want a non-empty text")
	case len(v) > p.most:
		return fmt.Errorf("want at most %d bytes, have %d", p.most, len(v))
	case strings.ContainsRune(v, 0):
		return errors.New("want a text without NUL characters")
	}
	return nil
}

// encode returns one of this package's structs as JSON without HTML escapes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("mcp: encode %T: %v", v, err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
