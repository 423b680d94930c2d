package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ErrInvalid means that a setting is invalid.
var ErrInvalid = errors.New("invalid configuration")

// maxFileBytes bounds the size of the configuration file.
const maxFileBytes = 1 << 20

// Loader reads settings from the file, the environment and the flags. The zero value
// returns the defaults.
type Loader struct {
	// File is the path of the YAML file, or empty for no file.
	File string
	// Environ contains NAME=value entries, as os.Environ returns them.
	Environ []string
	// Set contains path=value entries from flags. A later entry overrides an earlier one.
	Set []string
	// WithoutSecrets skips the secrets, so that missing ones are not an error.
	WithoutSecrets bool
}

// Load returns the effective, validated settings, and warnings about environment
// variables with our prefix that are not settings, and about secrets that other users of
// this machine can read.
func (l Loader) Load() (Config, []string, error) {
	c := Default()
	if err := l.loadFile(&c); err != nil {
		return c, nil, err
	}
	warnings, err := l.loadEnvironment(&c)
	if err != nil {
		return c, nil, err
	}
	if err := l.loadFlags(&c); err != nil {
		return c, nil, err
	}
	warnings = append(warnings, l.warnOfSecrets(&c)...)
	return c, warnings, c.validate(!l.WithoutSecrets)
}

func (l Loader) loadFile(c *Config) error {
	if l.File == "" {
		return nil
	}
	info, err := os.Stat(l.File)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if info.Size() > maxFileBytes {
		return fmt.Errorf("%w: %s has %d bytes, at most %d", ErrInvalid, l.File, info.Size(), maxFileBytes)
	}
	text, err := os.ReadFile(l.File)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if err := decode(text, c); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, l.File, err)
	}
	return nil
}

// decode decodes YAML over the current values of c.
func decode(text []byte, c *Config) error {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return withoutSource(err)
	}
	for _, doc := range file.Docs {
		if list, ok := doc.Body.(*ast.SequenceNode); ok {
			return fmt.Errorf("line %d: the file is a list: want keys and values, such as listen: 127.0.0.1:7070", list.GetToken().Position.Line)
		}
		if err := errors.Join(unknownKeys(doc.Body, reflect.TypeFor[Config](), "")...); err != nil {
			return err
		}
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil
	}
	if err := yaml.UnmarshalWithOptions(text, c, yaml.Strict()); err != nil {
		for _, doc := range file.Docs {
			if err := errors.Join(wrongValues(doc.Body, reflect.TypeFor[Config](), "")...); err != nil {
				return err
			}
		}
		return withoutSource(err)
	}
	return nil
}

// withoutSource removes the source lines from an error of the YAML library, because they
// may contain a secret. The value itself is shown if a number or a boolean is expected.
func withoutSource(err error) error {
	text := yaml.FormatError(err, false, false)
	if e, ok := errors.AsType[*yaml.TypeError](err); ok && e.Token != nil {
		if kind := e.DstType.Kind(); kind == reflect.Int || kind == reflect.Bool {
			text += fmt.Sprintf(": %.40q", e.Token.Value)
		}
	}
	return errors.New(text)
}

// unknownKeys reports every key below node for which t has no field.
func unknownKeys(node ast.Node, t reflect.Type, prefix string) []error {
	switch n := node.(type) {
	case *ast.MappingNode:
		var errs []error
		for _, pair := range n.Values {
			errs = append(errs, unknownKey(pair, t, prefix)...)
		}
		return errs
	case *ast.MappingValueNode:
		return unknownKey(n, t, prefix)
	case *ast.SequenceNode:
		var errs []error
		for _, item := range n.Values {
			if _, ok := item.(*ast.StringNode); ok {
				errs = append(errs, fmt.Errorf("line %d: %s has an item that is a value: want a section with %s", item.GetToken().Position.Line, strings.TrimSuffix(prefix, "."), strings.Join(keysOf(t), ", ")))
			}
			errs = append(errs, unknownKeys(item, t, prefix)...)
		}
		return errs
	}
	return nil
}

func unknownKey(pair *ast.MappingValueNode, t reflect.Type, prefix string) []error {
	token := pair.Key.GetToken()
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name != token.Value {
			names = append(names, name)
			continue
		}
		if err := wrongShape(pair, f.Type, prefix+name); err != nil {
			return []error{err}
		}
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if kindOf(inner) != "section" {
			return nil
		}
		return unknownKeys(pair.Value, inner, prefix+name+".")
	}
	return []error{fmt.Errorf("line %d: unknown key %q%s", token.Position.Line, prefix+token.Value, didYouMean(prefix, token.Value, names))}
}

func didYouMean(prefix, word string, names []string) string {
	if near := nearestName(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", prefix+near)
	}
	return "; known here: " + strings.Join(names, ", ")
}

func (l Loader) loadEnvironment(c *Config) (warnings []string, err error) {
	given := map[string]string{}
	for _, pair := range l.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, EnvPrefix) {
			given[name] = value
		}
	}
	var names []string
	var errs []error
	walkFields(reflect.ValueOf(c).Elem(), "", func(path string, _ reflect.StructField, v reflect.Value) {
		name := envName(path)
		names = append(names, name)
		if text, ok := given[name]; ok {
			if err := setValue(v, text); err != nil {
				errs = append(errs, fmt.Errorf("%w: environment variable %s: %w", ErrInvalid, name, err))
			}
			delete(given, name)
		}
	})
	// This is not an error, because tests and scripts use variables with that prefix too.
	for name := range given {
		if near := nearestName(name, names); near != "" {
			warnings = append(warnings, fmt.Sprintf("environment variable %s is no setting; did you mean %s?", name, near))
		}
	}
	return warnings, errors.Join(errs...)
}

func (l Loader) loadFlags(c *Config) error {
	for _, pair := range l.Set {
		path, text, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%w: --set %.80q: want path=value, such as cache.framesBytes=256MiB", ErrInvalid, pair)
		}
		if err := c.setPath(path, text); err != nil {
			return fmt.Errorf("%w: --set %s: %w", ErrInvalid, path, err)
		}
	}
	return nil
}

// secretFlags returns warnings about secrets in flags: every user of the machine can see
// the arguments of a process.
func (l Loader) secretFlags() (warnings []string) {
	for _, field := range Fields() {
		for _, pair := range l.Set {
			path, text, _ := strings.Cut(pair, "=")
			if field.Kind == "secret" && field.Path == path && NewSecret(text).inPlace() {
				warnings = append(warnings, fmt.Sprintf("every user of this machine may read %s, which is an argument of the process: give it as env:NAME or file:PATH", path))
			}
		}
	}
	return warnings
}

func (c *Config) setPath(path, text string) error {
	var names []string
	var found bool
	var err error
	walkFields(reflect.ValueOf(c).Elem(), "", func(p string, _ reflect.StructField, v reflect.Value) {
		names = append(names, p)
		if p == path {
			found, err = true, setValue(v, text)
		}
	})
	if found {
		return err
	}
	if slices.Contains(keysOf(reflect.TypeFor[Config]()), path) || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, path+".") }) {
		below := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, path+".") })
		if len(below) == 0 {
			return errors.New("can only be set in the configuration file")
		}
		return fmt.Errorf("is a section; set one of %s", strings.Join(below, ", "))
	}
	return fmt.Errorf("unknown key%s", suggestPath(path, names))
}

// YAML returns the settings as a configuration file. For secrets it shows only their
// source, and whether they can be read from it.
func (c *Config) YAML() ([]byte, error) {
	secrets := yaml.CustomMarshaler(func(s Secret) ([]byte, error) { return yaml.Marshal(s.describeReference()) })
	return yaml.MarshalWithOptions(c, yaml.Indent(2), yaml.IndentSequence(true), secrets)
}
