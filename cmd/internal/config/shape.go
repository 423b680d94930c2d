package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// wrongShape returns an error if a setting has a value of another shape than its type:
// text where a section is wanted, or a section where a list is wanted.
func wrongShape(pair *ast.MappingValueNode, t reflect.Type, path string) error {
	value := pair.Value
	is := "a value"
	switch value.(type) {
	case *ast.NullNode, *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return nil
	case *ast.MappingNode, *ast.MappingValueNode:
		is = "a section"
	case *ast.SequenceNode:
		is = "a list"
	}
	want, hint := "a value", ""
	switch kindOf(t) {
	case "section", "map":
		want = "a section"
		if kindOf(t) == "section" {
			hint = " with " + strings.Join(keysOf(t), ", ")
		}
	case "sections":
		want, hint = "a list", fmt.Sprintf(" of sections: each begins with \"- %s:\"", keysOf(t.Elem())[0])
		if path == "connections" {
			hint = ": write \"- name: NAME\" and \"kind: github\" below it for each connection. quarry migrate converts the configuration of other servers"
		}
	case "list":
		want, hint = "a list", ", such as [a, b]"
	}
	if is == want {
		return nil
	}
	return fmt.Errorf("line %d: %s is %s: want %s%s", pair.Key.GetToken().Position.Line, path, is, want, hint)
}

// keysOf returns the keys of a section.
func keysOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("yaml"))
	}
	return names
}

// wrongValues returns an error for every value below node that does not have the type of
// its setting. The errors name the setting and its line, which those of the YAML library
// do not do.
func wrongValues(node ast.Node, t reflect.Type, prefix string) (errs []error) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			errs = append(errs, wrongValue(pair, t, prefix)...)
		}
	case *ast.MappingValueNode:
		errs = wrongValue(n, t, prefix)
	case *ast.SequenceNode:
		for i, item := range n.Values {
			errs = append(errs, wrongValues(item, t, fmt.Sprintf("%s[%d].", strings.TrimSuffix(prefix, "."), i))...)
		}
	}
	return errs
}

func wrongValue(pair *ast.MappingValueNode, t reflect.Type, prefix string) []error {
	token := pair.Key.GetToken()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("yaml") != token.Value {
			continue
		}
		path := prefix + token.Value
		switch kindOf(f.Type) {
		case "section":
			return wrongValues(pair.Value, f.Type, path+".")
		case "sections":
			return wrongValues(pair.Value, f.Type.Elem(), path+".")
		case "duration", "size", "number", "boolean", "ratio":
			value := reflect.New(f.Type).Elem()
			written := pair.Value.GetToken()
			if err := setValue(value, written.Value); err != nil {
				return []error{fmt.Errorf("[%d:%d] %s: %w", written.Position.Line, written.Position.Column, path, err)}
			}
		}
	}
	return nil
}
