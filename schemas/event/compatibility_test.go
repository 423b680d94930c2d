package event

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// releasedPath lists everything that was ever released: headers, fields with their rules,
// and the hashes of samples, one per line with the version that introduced it. Logs keep
// such records forever, so lines are never removed or changed.
var releasedPath = filepath.Join("..", "testdata", "released-fields.txt")

// TestSchemasStayCompatible detects breaking changes. A change that it rejects needs a
// new version of the event.
func TestSchemasStayCompatible(t *testing.T) {
	b, err := os.ReadFile(releasedPath)
	if err != nil && !(*update && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	released := strings.Split(strings.TrimSpace(string(b)), "\n")
	if string(b) == "" {
		released = nil
	}
	broken, added := compareFields(released, currentFields(t))
	for _, problem := range broken {
		t.Error(problem)
	}
	if len(added) == 0 || t.Failed() {
		return
	}
	if !*update {
		t.Fatalf("fields that are not recorded as released; record them by: go test ./schemas/event -update\n%s", strings.Join(added, "\n"))
	}
	text := strings.Join(append(released, added...), "\n") + "\n"
	if err := os.WriteFile(releasedPath, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// currentFields returns the lines for the current sources: the headers, and for each
// version its schema, field by field, and the hashes of its samples.
func currentFields(t *testing.T) []string {
	t.Helper()
	lines := headerLines(mustEncode(t, fullEvents()[0]).Headers)
	for _, ev := range fullEvents() {
		schema, err := os.ReadFile(schemaPath(ev.EventType()))
		if err != nil {
			t.Fatal(err)
		}
		of, err := schemaLines(shortName(ev.EventType()), schema)
		if err != nil {
			t.Fatalf("%s: %v", schemaPath(ev.EventType()), err)
		}
		lines = append(lines, of...)
		for _, path := range samplePaths(t, ev.EventType()) {
			sample, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s #%s optional sha256:%x", shortName(ev.EventType()), filepath.Base(path), sha256.Sum256(sample)))
		}
	}
	return lines
}

// schemaLines returns the lines of one schema: its root as "#", then its fields.
func schemaLines(version string, schema []byte) ([]string, error) {
	root, err := ruleOf(schema)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf("", schema)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.path, b.path) })
	lines := []string{version + " # optional " + root}
	for _, f := range fields {
		lines = append(lines, version+" "+f.String())
	}
	return lines, nil
}

// headerLines returns the lines of the headers that Encode writes, in the order of the
// format, with the requirements of Decode for each.
func headerLines(written []Header) []string {
	rules := map[string]string{
		headerSpecVersion: "const " + specVersion, headerContentType: "const " + contentType, headerTime: "date-time",
		headerID: fmt.Sprint("maxBytes ", MaxIDBytes), headerSource: fmt.Sprint("maxBytes ", MaxSourceBytes), headerType: "prefix " + TypePrefix,
	}
	var lines []string
	for _, h := range written {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("headers /%s required %s", h.Name, rules[h.Name]), " "))
	}
	return append(lines, fmt.Sprint("headers #value optional maxBytes ", MaxValueBytes))
}

// compareFields returns the released lines that current breaks, and the new lines of
// current. A line has the form "version path required|optional rule".
func compareFields(released, current []string) (broken, added []string) {
	now := map[string]string{}
	for _, line := range current {
		id, rest := splitField(line)
		now[id] = rest
	}
	known, versions := map[string]bool{}, map[string]bool{}
	for _, line := range released {
		id, was := splitField(line)
		known[id] = true
		versions[strings.Fields(line)[0]] = true
		is, found := now[id]
		switch {
		case !found:
			broken = append(broken, fmt.Sprintf("%s: removed, or renamed; it is in logs", id))
		case is != was:
			broken = append(broken, fmt.Sprintf("%s: was %s, is %s", id, was, is))
		}
	}
	for _, line := range current {
		id, rest := splitField(line)
		if known[id] {
			continue
		}
		// A new version may have any fields. In an existing version, a new field must be
		// optional because old records lack it, unless it is required in a new optional
		// object.
		parent := parentOf(id)
		if versions[strings.Fields(line)[0]] && strings.HasPrefix(rest, "required") && (parent == "" || known[parent]) {
			broken = append(broken, fmt.Sprintf("%s: is new and required; old records lack it", id))
			continue
		}
		added = append(added, line)
	}
	return broken, added
}

func splitField(line string) (id, rest string) {
	version, rest, _ := strings.Cut(line, " ")
	path, rest, _ := strings.Cut(rest, " ")
	return version + " " + path, rest
}

// parentOf returns the ID of the object or list that holds a field, and "" for a
// field of the event itself.
func parentOf(id string) string {
	slash := strings.LastIndexByte(id, '/')
	if slash < 0 {
		return ""
	}
	parent := strings.TrimSuffix(id[:slash], "[]")
	if strings.HasSuffix(parent, " ") {
		return ""
	}
	return parent
}

func TestCompareFields(t *testing.T) {
	released := []string{
		`push.v1 /repository required {"type":"integer"}`,
		`push.v1 /ref optional {"type":"string"}`,
		`push.v1 /list optional {"type":"array"}`,
		`push.v1 /list[]/id required {"type":"string"}`,
	}
	replace := func(i int, line string) []string {
		lines := append([]string(nil), released...)
		lines[i] = line
		return lines
	}
	tests := []struct {
		name          string
		current       []string
		broken, added int
	}{
		{"same", released, 0, 0},
		{"removed", released[1:], 1, 0},
		{"type", replace(1, `push.v1 /ref optional {"type":"integer"}`), 1, 0},
		{"nested type", replace(3, `push.v1 /list[]/id required {"type":"integer"}`), 1, 0},
		{"bound", replace(1, `push.v1 /ref optional {"maxLength":5,"type":"string"}`), 1, 0},
		{"optional made required", replace(1, `push.v1 /ref required {"type":"string"}`), 1, 0},
		{"required made optional", replace(0, `push.v1 /repository optional {"type":"integer"}`), 1, 0},
		{"renamed", replace(1, `push.v1 /reference optional {"type":"string"}`), 1, 1},
		{"new optional field", append(released[:4:4], `push.v1 /note optional {"type":"string"}`), 0, 1},
		{"new required field", append(released[:4:4], `push.v1 /note required {"type":"string"}`), 1, 0},
		{"new required field in a list", append(released[:4:4], `push.v1 /list[]/x required {"type":"string"}`), 1, 0},
		{"new object with a required field", append(released[:4:4],
			`push.v1 /o optional {"type":"object"}`, `push.v1 /o/x required {"type":"string"}`), 0, 2},
		{"new version", append(released[:4:4], `push.v2 /repository required {"type":"string"}`), 0, 1},
	}
	for _, test := range tests {
		broken, added := compareFields(released, test.current)
		if len(broken) != test.broken || len(added) != test.added {
			t.Errorf("%s: broken %q, added %q; want %d and %d", test.name, broken, added, test.broken, test.added)
		}
	}
}
