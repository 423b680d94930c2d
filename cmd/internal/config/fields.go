package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Field describes one setting.
type Field struct {
	Path    string // git.allowedRoots
	Env     string // QUARRY_GIT_ALLOWED_ROOTS
	Kind    string // string, list, number, boolean, duration, size, secret, ratio
	Default string // as written in YAML
	Allowed []string
	Doc     string
	Reloads bool // applied at SIGHUP; other settings need a restart
}

// EnvPrefix is the prefix of all environment variables of the configuration.
const EnvPrefix = "QUARRY_"

// Fields lists the settings that have one value, in the order of the file. It omits
// connections, which have many.
func Fields() []Field {
	c := Default()
	var fields []Field
	walkFields(reflect.ValueOf(&c).Elem(), "", func(path string, f reflect.StructField, v reflect.Value) {
		fields = append(fields, Field{
			Path: path, Env: envName(path), Kind: kindOf(f.Type), Default: formatValue(v), Allowed: allowedValues(f), Doc: f.Tag.Get("doc"),
			Reloads: isReloadable(f),
		})
	})
	return fields
}

// walkFields calls visit for every field of v that is a single value or a list of
// strings, depth first.
func walkFields(v reflect.Value, prefix string, visit func(path string, f reflect.StructField, v reflect.Value)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		path := prefix + f.Tag.Get("yaml")
		switch kindOf(f.Type) {
		case "section":
			walkFields(v.Field(i), path+".", visit)
		case "sections":
		default:
			visit(path, f, v.Field(i))
		}
	}
}

func allowedValues(f reflect.StructField) []string {
	if tag, ok := f.Tag.Lookup("enum"); ok {
		return strings.Split(tag, ",")
	}
	return nil
}

// kindOf returns the kind of the text form of a type.
func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return "duration"
	case t == reflect.TypeFor[Bytes]():
		return "size"
	case t == reflect.TypeFor[Secret]():
		return "secret"
	case t == reflect.TypeFor[Ratio]():
		return "ratio"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "number"
	case reflect.Struct:
		return "section"
	case reflect.Slice:
		if kindOf(t.Elem()) == "section" {
			return "sections"
		}
		return "list"
	case reflect.Map:
		return "map"
	}
	panic(fmt.Sprintf("config: a setting of type %v has no written form", t))
}

// envName converts git.allowedRoots to QUARRY_GIT_ALLOWED_ROOTS.
func envName(path string) string {
	var b strings.Builder
	b.WriteString(EnvPrefix)
	for _, r := range path {
		switch {
		case r == '.':
			b.WriteByte('_')
		case unicode.IsUpper(r):
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

func formatValue(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, _ := m.MarshalText() // the types of this package never fail
		return string(b)
	}
	if v.Kind() == reflect.Slice {
		return strings.Join(v.Interface().([]string), ",")
	}
	return fmt.Sprint(v.Interface())
}

// setValue parses text from the environment or a flag into v.
func setValue(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%.40q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%.40q is no whole number", text)
		}
		v.SetInt(int64(n))
	case reflect.Slice:
		v.Set(reflect.ValueOf(splitList(text)))
	}
	return nil
}

func splitList(text string) []string {
	items := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
