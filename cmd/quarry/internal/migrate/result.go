package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// MaxBytes bounds the size of the input file.
const MaxBytes = 4 << 20

// ErrFormat means that a file is not a valid configuration.
var ErrFormat = errors.New("not a configuration of this server")

// Result is the result of a conversion.
type Result struct {
	// Config contains the settings that follow from the file; all others are zero.
	Config config.Config
	// Notes describe what was not converted, or was converted differently, and what to
	// do.
	Notes []string
	// origins maps keys of the file to the connections and contexts that were made of
	// them.
	origins map[string]origin
}

// origin is what a key of the file became: an item of a list of the settings.
type origin struct{ list, name string }

// setOrigin records that a key of the file became the item of a list.
func (r *Result) setOrigin(key, list, name string) {
	if r.origins == nil {
		r.origins = make(map[string]origin)
	}
	r.origins[strings.TrimSuffix(key, ".")] = origin{list, name}
}

func (r *Result) addNote(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

// noteUnknown notes the keys of an object that are not among known.
func (r *Result) noteUnknown(where string, object map[string]any, known ...string) {
	for _, key := range sortedKeys(object) {
		if !slices.Contains(known, key) {
			r.addNote("%s%s: unknown key, not taken", where, key)
		}
	}
}

// Convert converts a file in one of the Formats.
func Convert(format string, text []byte) (*Result, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrFormat, MaxBytes)
	}
	r := &Result{}
	var err error
	switch format {
	case "sourcebot":
		err = r.addSourcebot(text)
	case "zoekt-mirror":
		err = r.addZoektMirror(text)
	case "hound":
		err = r.addHound(text)
	default:
		err = fmt.Errorf("%w: unknown format %.40q", ErrFormat, format)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(r.Config.Connections, func(a, b config.Connection) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// Formats are the formats that Convert reads.
var Formats = []string{"sourcebot", "zoekt-mirror", "hound"}

// Lists of the settings to which notes are attached.
const (
	connectionList = "$.connections"
	contextList    = "$.query.contexts"
)

// YAML returns the settings as text of quarry.yaml, with the notes as comments: above the
// key that they are about, or at the top if there is none.
func (r *Result) YAML() ([]byte, error) {
	var b bytes.Buffer
	values := toSlice(reflect.ValueOf(r.Config))
	paths := make(map[string]bool)
	addPaths(paths, "$", values)
	comments := yaml.CommentMap{}
	texts := make(map[string][]string)
	for _, note := range r.Notes {
		text := " " + strings.Map(printable, note)
		if path := r.pathOfNote(note, paths); path != "" {
			texts[path] = append(texts[path], text)
		} else {
			fmt.Fprintf(&b, "#%s\n", text)
		}
	}
	if len(values) == 0 {
		return append(b.Bytes(), "{}\n"...), nil
	}
	for path, lines := range texts {
		comments[path] = []*yaml.Comment{yaml.HeadComment(lines...)}
	}
	text, err := yaml.MarshalWithOptions(values, yaml.IndentSequence(true), yaml.WithComment(comments))
	if err != nil {
		return nil, err
	}
	b.Write(text)
	return b.Bytes(), nil
}

// addPaths adds the YAML paths of the keys of a value to paths.
func addPaths(paths map[string]bool, at string, value any) {
	switch v := value.(type) {
	case yaml.MapSlice:
		for _, item := range v {
			path := at + "." + item.Key.(string)
			paths[path] = true
			addPaths(paths, path, item.Value)
		}
	case []any:
		for i, item := range v {
			addPaths(paths, fmt.Sprintf("%s[%d]", at, i), item)
		}
	}
}

var settingName = regexp.MustCompile(`\b[a-z]+\.[a-zA-Z]+\b`)

// pathOfNote returns the YAML path of the key that a note is about, among paths; empty if
// there is none. That is a key of the connection or context that was made of the key that
// the note names, or else a setting whose name the note contains.
func (r *Result) pathOfNote(note string, paths map[string]bool) string {
	key, text, _ := strings.Cut(note, ": ")
	for prefix := key; prefix != ""; prefix = prefix[:max(strings.LastIndexByte(prefix, '.'), 0)] {
		o, ok := r.origins[prefix]
		if !ok {
			continue
		}
		item := fmt.Sprintf("%s[%d]", o.list, r.indexOf(o))
		for path := item + key[len(prefix):]; len(path) > len(item); path = path[:strings.LastIndexByte(path, '.')] {
			if paths[path] {
				return path
			}
		}
		if paths[item+".name"] {
			return item + ".name"
		}
	}
	for _, name := range settingName.FindAllString(text, -1) {
		if paths["$."+name] {
			return "$." + name
		}
	}
	return ""
}

// indexOf returns the index of the item of a list.
func (r *Result) indexOf(o origin) int {
	if o.list == contextList {
		return slices.IndexFunc(r.Config.Query.Contexts, func(c config.Context) bool { return c.Name == o.name })
	}
	return slices.IndexFunc(r.Config.Connections, func(c config.Connection) bool { return c.Name == o.name })
}

// printable replaces characters that would end a comment.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}

// toSlice returns the non-zero settings of a section, in the order of the documentation.
func toSlice(section reflect.Value) yaml.MapSlice {
	var out yaml.MapSlice
	for i := range section.NumField() {
		f, v := section.Type().Field(i), section.Field(i)
		if v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
			continue
		}
		if value := toValue(v); value != nil {
			out = append(out, yaml.MapItem{Key: f.Tag.Get("yaml"), Value: value})
		}
	}
	return out
}

func toValue(v reflect.Value) any {
	if t, ok := v.Interface().(interface{ MarshalText() ([]byte, error) }); ok {
		text, err := t.MarshalText()
		if err != nil {
			return nil
		}
		return string(text)
	}
	switch v.Kind() {
	case reflect.Struct:
		return toSlice(v)
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = toValue(v.Index(i))
		}
		return items
	}
	return v.Interface()
}

var badNameBytes = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// maxNameBytes bounds the name of a connection.
const maxNameBytes = 64

// addConnection adds a connection under a valid, unique name. keys are the keys of the
// file that it was made of.
func (r *Result) addConnection(c config.Connection, keys ...string) {
	name := strings.Trim(badNameBytes.ReplaceAllString(c.Name, "-"), "-")
	name = name[:min(len(name), maxNameBytes-4)]
	if name == "" {
		name = "connection"
	}
	c.Name = name
	for n := 2; slices.ContainsFunc(r.Config.Connections, func(o config.Connection) bool { return o.Name == c.Name }); n++ {
		c.Name = fmt.Sprintf("%s-%d", name, n)
	}
	r.Config.Connections = append(r.Config.Connections, c)
	for _, key := range keys {
		r.setOrigin(key, connectionList, c.Name)
	}
}

// cleanURL returns a base URL without its user, which may be a secret, and without a
// trailing slash. It returns an empty string for an invalid URL.
func (r *Result) cleanURL(where, text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		r.addNote("%s: not an http(s) URL, not taken", where)
		return ""
	}
	if u.User != nil {
		r.addNote("%s: it holds a user or a password, which was left out: set token to env:NAME or file:PATH", where)
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return strings.TrimRight(u.String(), "/")
}

// checkGlobs notes glob syntax that Quarry does not support.
func (r *Result) checkGlobs(where string, globs []string) []string {
	for _, glob := range globs {
		if strings.ContainsAny(glob, "{}[]!()|+") && !strings.HasPrefix(glob, "http") {
			r.addNote("%s: %q: globs have *, ** and ? only; write one glob for each case", where, glob)
		}
	}
	return globs
}
