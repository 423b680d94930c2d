package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// object is a JSON object of a schema or a value.
type object = map[string]any

// TestTheCheckCatchesBreakingChanges applies forbidden and allowed changes to the current
// schemas, and compares the results with the released ones.
func TestTheCheckCatchesBreakingChanges(t *testing.T) {
	property := func(schema object, path ...string) object {
		for _, name := range path {
			if name == "[]" {
				schema = schema["items"].(object)
			} else {
				schema = schema["properties"].(object)[name].(object)
			}
		}
		return schema
	}
	for _, test := range []struct {
		name   string
		typ    Type
		broken bool
		change func(s object)
	}{
		{"nothing", TypePush, false, func(object) {}},
		{"a new optional field", TypePush, false, func(s object) { s["properties"].(object)["note"] = object{"type": "string"} }},
		{"another description", TypePush, false, func(s object) { property(s, "ref")["description"] = "x" }},
		{"a removed field", TypePush, true, func(s object) { delete(s["properties"].(object), "forced") }},
		{"a removed field of a list", TypeRevisionIndexed, true, func(s object) {
			delete(property(s, "changes", "[]")["properties"].(object), "flags")
		}},
		{"another type", TypePush, true, func(s object) { property(s, "pusher")["type"] = "object" }},
		{"a field that becomes required", TypePush, true, func(s object) { s["required"] = append(s["required"].([]any), "ref") }},
		{"a new required field", TypePush, true, func(s object) {
			s["properties"].(object)["note"] = object{"type": "string"}
			s["required"] = append(s["required"].([]any), "note")
		}},
		{"a required field that may be absent", TypePush, true, func(s object) { s["required"] = []any{"repository", "action"} }},
		{"a value less", TypePush, true, func(s object) { property(s, "action")["enum"] = []any{"created", "updated", "deleted"} }},
		{"a value more, which readers of today refuse", TypePush, true, func(s object) {
			p := property(s, "action")
			p["enum"] = append(p["enum"].([]any), "moved")
		}},
		{"a shorter text", TypePush, true, func(s object) { property(s, "connection")["maxLength"] = 100 }},
		{"a new bound", TypePush, true, func(s object) { property(s, "repository")["multipleOf"] = 2 }},
		{"a smaller number", TypeRevisionIndexed, true, func(s object) { property(s, "changes", "[]", "flags")["maximum"] = 127 }},
		{"another pattern", TypeRevisionIndexed, true, func(s object) { property(s, "segments", "[]", "id")["pattern"] = "^[0-9a-f]{64}$" }},
		{"fewer elements", TypeRevisionIndexed, true, func(s object) { property(s, "changes")["maxItems"] = 10 }},
		{"no fields but the known", TypePush, true, func(s object) { s["additionalProperties"] = false }},
		{"the same of an element", TypeRevisionIndexed, true, func(s object) { property(s, "changes", "[]")["additionalProperties"] = false }},
		{"another name of the type", TypePush, true, func(s object) { s["title"] = "dev.quarry.pushed.v1" }},
	} {
		schema := decodeObject(t, readFile(t, schemaPath(test.typ)))
		test.change(schema)
		changed, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := schemaLines(shortName(test.typ), changed)
		if err != nil {
			t.Fatal(err)
		}
		if broken, _ := compareFields(releasedOf(t, shortName(test.typ)+" ", " #"+shortName(test.typ)), lines); (len(broken) > 0) != test.broken {
			t.Errorf("%s: found %q, breaking is %t", test.name, broken, test.broken)
		}
	}
}

// TestTheCheckCatchesWhatIsNoSchema does the same with headers, versions and samples.
func TestTheCheckCatchesWhatIsNoSchema(t *testing.T) {
	current := currentFields(t)
	released := releasedOf(t, "", "\x00")
	for name, change := range map[string]func(line string) string{
		"a version that is gone":    func(line string) string { return dropIf(line, strings.HasPrefix(line, "push.v1 ")) },
		"a header of another name":  func(line string) string { return strings.Replace(line, "/ce_id ", "/ce-id ", 1) },
		"a header of another bound": func(line string) string { return strings.Replace(line, "maxBytes 512", "maxBytes 64", 1) },
		"a smaller value":           func(line string) string { return strings.Replace(line, fmt.Sprint(MaxValueBytes), "1000", 1) },
		"a sample written again":    func(line string) string { return strings.Replace(line, "sha256:", "sha256:0", 1) },
	} {
		var lines []string
		for _, line := range current {
			if line = change(line); line != "" {
				lines = append(lines, line)
			}
		}
		if broken, _ := compareFields(released, lines); len(broken) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
	if broken, added := compareFields(released, current); len(broken)+len(added) > 0 {
		t.Errorf("what is in the tree: broken %q, added %q", broken, added)
	}
}

func dropIf(line string, drop bool) string {
	if drop {
		return ""
	}
	return line
}

// releasedOf returns the released lines that have prefix and do not contain without.
func releasedOf(t *testing.T, prefix, without string) []string {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(readFile(t, releasedPath))), "\n") {
		if strings.HasPrefix(line, prefix) && !strings.Contains(line, without) {
			lines = append(lines, line)
		}
	}
	return lines
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodeObject(t *testing.T, b []byte) object {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(b)))
	decoder.UseNumber()
	var o object
	if err := decoder.Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestDecodeTakesWhatTheSchemasAllow sets each field to its bounds: if a check of Decode
// became stricter than the released schema, records would be lost.
func TestDecodeTakesWhatTheSchemasAllow(t *testing.T) {
	tried := 0
	for _, ev := range append(fullEvents(), otherEvents()...) {
		schema := decodeObject(t, readFile(t, schemaPath(ev.EventType())))
		rec := mustEncode(t, ev)
		atBounds(schema, decodeObject(t, rec.Value), "", func(where string, root object) {
			tried++
			value, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			varied := addressRecord(rec, root)
			varied.Value = value
			if _, _, err := Decode(varied); err != nil {
				t.Errorf("%s: %s: %v", ev.EventType(), where, err)
			}
		})
	}
	if tried < 100 {
		t.Errorf("%d values tried, want more", tried)
	}
}

// addressRecord sets the key and subject of rec according to its value.
func addressRecord(rec Record, root object) Record {
	if rec.Key == nil {
		if subject := subjectOfObject(root); subject != "" {
			return withHeader(rec, headerSubject, subject)
		}
	}
	id := root["repository"]
	if r, ok := id.(object); ok {
		id = r["id"]
	}
	if id != nil {
		rec.Key = []byte(fmt.Sprint(id))
		return withHeader(rec, headerSubject, "repository/"+fmt.Sprint(id))
	}
	if connection, ok := root["connection"]; ok {
		return withHeader(rec, headerSubject, "connection/"+fmt.Sprint(connection))
	}
	if partition, ok := root["partition"]; ok {
		return withHeader(rec, headerSubject, "partition/"+fmt.Sprint(partition))
	}
	return rec
}

// subjectOfObject returns the subject of an account event, and "" for other events.
func subjectOfObject(root object) string {
	switch {
	case root["connection"] != nil:
		return "connection/" + fmt.Sprint(root["connection"])
	case root["visibility"] != nil:
		return "repository/" + fmt.Sprint(root["repository"])
	case root["by"] == nil:
		return ""
	}
	for _, name := range []string{"user", "invitation", "token"} {
		if id := root[name]; id != nil {
			return name + "/" + fmt.Sprint(id)
		}
	}
	return ""
}

// atBounds calls try for every field and each of its bounds, with the value of an event
// in which that field is at the bound.
func atBounds(schema, value object, where string, try func(where string, root object)) {
	properties, _ := schema["properties"].(object) // a map has none
	for name, p := range properties {
		rule, path := p.(object), where+"/"+name
		was, there := value[name]
		if !there || name == "pathBase64" {
			continue
		}
		set := func(v any) {
			value[name] = v
			restore := keepRules(value, name, v)
			try(path+" "+fmt.Sprintf("%.40v", v), value)
			restore()
			value[name] = was
		}
		for _, v := range boundValues(rule) {
			set(v)
		}
		if nested, ok := was.(object); ok {
			atBounds(rule, nested, path, func(where string, _ object) { try(where, value) })
		}
		if list, ok := was.([]any); ok {
			for _, n := range []string{"minItems", "maxItems"} {
				if count, ok := rule[n]; ok {
					set(repeatLast(list, toNumber(count)))
				}
			}
			if last, ok := list[len(list)-1].(object); ok {
				value[name] = []any{last}
				atBounds(rule["items"].(object), last, path, func(where string, _ object) { try(where, value) })
				value[name] = was
			}
		}
	}
}

// keepRules restores the rules between fields after a change, and returns a function that
// undoes it.
func keepRules(value object, name string, v any) (restore func()) {
	if name == "change" {
		if value["search"] != nil {
			return keepSearchChange(value, v.(string))
		}
		return keepChange(value, v.(string))
	}
	if name != "outcome" || value["connection"] == nil {
		return func() {}
	}
	// Only a duplicate delivery names the delivery that it repeats.
	of, had := value["of"]
	if v == "duplicate" {
		value["of"] = object{"topic": "t", "partition": 0, "offset": 0}
	} else {
		delete(value, "of")
	}
	return func() {
		delete(value, "of")
		if had {
			value["of"] = of
		}
	}
}

// keepChange sets exactly the field that the change of a user needs.
func keepChange(value object, change string) (restore func()) {
	fields := object{
		"role": "OWNER", "name": "x", "passwordHash": samplePasswordHash, "replaces": samplePasswordHash, "identity": object{"issuer": "x", "subject": "x"},
	}
	needs := map[string]string{"role_changed": "role", "renamed": "name", "password_changed": "passwordHash", "password_rehash": "passwordHash", "identity_linked": "identity"}
	was := object{}
	for name, field := range fields {
		if had, ok := value[name]; ok {
			was[name] = had
		}
		delete(value, name)
		if needs[change] == name || name == "replaces" && needs[change] == "passwordHash" {
			value[name] = field
		}
	}
	return func() {
		for name := range fields {
			delete(value, name)
		}
		for name, had := range was {
			value[name] = had
		}
	}
}

// keepSearchChange removes the fields that the event of a deleted saved search must not
// have.
func keepSearchChange(value object, change string) (restore func()) {
	was := object{}
	for _, name := range []string{"name", "query", "regexp", "caseSensitive", "shared"} {
		if had, ok := value[name]; ok && change == "deleted" {
			was[name] = had
			delete(value, name)
		}
	}
	return func() { maps.Copy(value, was) }
}

// boundValues returns the values at the bounds of a rule.
func boundValues(rule object) []any {
	var out []any
	if enum, ok := rule["enum"].([]any); ok {
		return enum
	}
	if pattern, ok := rule["pattern"].(string); ok {
		prefix := ""
		switch {
		case strings.Contains(pattern, "{40}|"):
			return []any{strings.Repeat("a", 40), strings.Repeat("a", 64)}
		case strings.HasPrefix(pattern, "^[0-9a-f]{"):
			n, _, _ := strings.Cut(strings.TrimPrefix(pattern, "^[0-9a-f]{"), "}")
			length, _ := strconv.Atoi(n)
			return []any{strings.Repeat("b", length)}
		case pattern == "^refs/":
			prefix = "refs/heads/"
		case pattern == "^qk_", pattern == "^sbk_":
			prefix = pattern[1:]
		case strings.Contains(pattern, "argon2id"):
			prefix = "$argon2id$"
		case strings.Contains(pattern, "@"):
			prefix = "a@"
		}
		return []any{prefix + strings.Repeat("a", toNumber(rule["maxLength"])-len(prefix))}
	}
	for _, n := range []string{"minLength", "maxLength"} {
		if length, ok := rule[n]; ok {
			out = append(out, strings.Repeat("a", toNumber(length)))
		}
	}
	for _, n := range []string{"minimum", "maximum"} {
		if v, ok := rule[n]; ok {
			out = append(out, v)
		}
	}
	return out
}

// repeatLast returns a list of n elements: it appends copies of the last element, in the
// order required for paths and offsets.
func repeatLast(list []any, n int) []any {
	last := list[len(list)-1]
	out := make([]any, n)
	for i := range out {
		out[i] = last
		if o, ok := last.(object); ok {
			copied := object{}
			for k, v := range o {
				copied[k] = v
			}
			if _, ok := copied["path"]; ok {
				copied["path"] = fmt.Sprintf("p%09d", i)
			}
			if _, ok := copied["offset"]; ok {
				copied["offset"] = i
			}
			out[i] = copied
		}
	}
	return slices.Clip(out)
}

func toNumber(v any) int {
	n, _ := strconv.Atoi(fmt.Sprint(v))
	return n
}
