package config

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// These files are generated from Config. QUARRY_GENERATE=1 (make generate) writes them;
// otherwise the tests compare them.
const (
	schemaFile = "../../../schemas/config/quarry.schema.json"
	pageFile   = "../../../docs/configuration.md"
	tableBegin = "<!-- settings: written by make generate -->\n"
	tableEnd   = "<!-- end of settings -->\n"
)

func isGenerating() bool { return os.Getenv("QUARRY_GENERATE") == "1" }

func TestSchemaIsCurrent(t *testing.T) {
	want, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	checkCurrent(t, schemaFile, want)
}

func TestPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has lost the marks around its table", pageFile)
	}
	checkCurrent(t, pageFile, []byte(before+tableBegin+"\n"+makeTables()+"\n"+tableEnd+after))
}

func checkCurrent(t *testing.T, name string, want []byte) {
	t.Helper()
	if isGenerating() {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not follow from Config any more: run make generate", name)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestSchemaAgreesWithLoad(t *testing.T) {
	compiled := compileSchema(t)
	defaults := Default()
	printed, err := defaults.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{string(printed), true},
		{"connections: [{name: a, kind: github, secrets: [b], autoRegister: true}]", true},
		{"cache: {framesBytes: 1048576}", true},
		{"cache: {framesBytes: 3 parsecs}", false},
		{"lisen: x", false},
		{"roles: [serve]", false},
		{"query: {timeout: soon}", false},
		{"git: {allowedRoots: 3}", false},
	} {
		var value any
		asJSON, err := yaml.YAMLToJSON([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(asJSON, &value); err != nil {
			t.Fatal(err)
		}
		bySchema := compiled.Validate(value)
		_, _, byLoad := Loader{File: writeConfigFile(t, c.text)}.Load()
		if (bySchema == nil) != c.ok || (byLoad == nil) != c.ok {
			t.Errorf("%.60s: schema says %v, Load says %v, want ok = %v", c.text, bySchema, byLoad, c.ok)
		}
	}
}
