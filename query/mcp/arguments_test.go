package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestArgumentsAgreeWithSchemas checks that the schemas agents see agree with parse.
// Schemas omit bounds, which the errors of parse name.
func TestArgumentsAgreeWithSchemas(t *testing.T) {
	values := []string{
		`"x"`, `""`, `"a\u0000b"`, `1`, `0`, `-1`, `1.5`, `100`, `1000`, `10000`, `100000000`, `1e300`, `true`, `[]`, `{}`, `"name"`, `"desc"`, `"ten"`,
		`"` + strings.Repeat("a", 5000) + `"`,
	}
	for _, tool := range allTools() {
		schema := compileSchema(t, tool)
		for _, p := range append(tool.params, param{name: "unknown"}) {
			for _, value := range values {
				raw := json.RawMessage(argumentsJSON(tool.params, p.name, value))
				_, err := parse(tool.params, raw)
				in, _ := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
				said := schema.Validate(in)
				if err == nil && said != nil {
					t.Errorf("%s %s=%.30s: parse says %v, the schema %v", tool.name, p.name, value, err, said)
				}
				if err != nil && !errors.Is(err, errArguments) {
					t.Errorf("%s %s=%.30s: %v is no errArguments", tool.name, p.name, value, err)
				}
			}
		}
	}
}

func compileSchema(t *testing.T, tool *tool) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schemaOf(tool.params))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(tool.name, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(tool.name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// argumentsJSON returns arguments with the required params and one other.
func argumentsJSON(params []param, name, value string) string {
	members := []string{}
	for i := range params {
		if params[i].required && params[i].name != name {
			members = append(members, `"`+params[i].name+`":"x"`)
		}
	}
	return "{" + strings.Join(append(members, `"`+name+`":`+value), ",") + "}"
}

func TestParse(t *testing.T) {
	args, err := parse(grepTool.params, json.RawMessage(`{"pattern":"x","repo":null,"limit":2e1,"ignoreCase":true}`))
	if err != nil || args.getText("repo") != "" || args.getNumber("limit") != 20 || !args.getFlag("ignoreCase") || args.getFlag("groupByRepo") || args.getNumber("context") != 0 {
		t.Errorf("parse arguments with null, 2e1 and a flag: %v, %v; want no repo, 20 and true", args, err)
	}
	for raw, want := range map[string]string{
		``: "pattern is required", `null`: "pattern is required", `{"pattern":null}`: "pattern is required", `[]`: "want a JSON object", `"x"`: "want a JSON object",
		`{"pattern":"x","lang":"go"}`: `unknown argument "lang"; valid arguments are pattern, literal`,
		`{"pattern":7}`:               "pattern: want a value of type string",
	} {
		if _, err := parse(grepTool.params, json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// TestLimitOfLists checks that tools with pages accept the limit of the other tools.
func TestLimitOfLists(t *testing.T) {
	for raw, want := range map[string]int{`{"repo":"x","limit":2}`: 2, `{"repo":"x","perPage":3}`: 3, `{"repo":"x","perPage":3,"limit":2}`: 3, `{"repo":"x"}`: 30} {
		if args, err := parse(listCommitsTool.params, json.RawMessage(raw)); err != nil || args.getNumber("perPage") != want {
			t.Errorf("%s: %v, %v, want %d", raw, args, err, want)
		}
	}
	if _, err := parse(listCommitsTool.params, json.RawMessage(`{"repo":"x","limit":1000}`)); err == nil {
		t.Error("limit has no bound")
	}
}

func TestCutLine(t *testing.T) {
	for line, want := range map[string]string{
		"a\r\n": "a", "": "", "\xffa": "\uFFFDa",
		strings.Repeat("a", 2000) + "\n": strings.Repeat("a", 2000),
		strings.Repeat("ä", 1500) + "\n": strings.Repeat("ä", 1000) + " [cut: the line has 3001 bytes]",
	} {
		if have := cutLine([]byte(line)); have != want {
			t.Errorf("%.20q: %.50q … %q", line, have, have[max(0, len(have)-40):])
		}
	}
}

func TestPathText(t *testing.T) {
	for path, want := range map[string]string{
		"a b/ä\u00a0🎉": "a b/ä\u00a0🎉", "a\nb": `"a\nb"`, "a\u202eb": `"a\u202eb"`, "a\u2028b": `"a\u2028b"`, "\u200ba": `"\u200ba"`,
	} {
		if have := pathText(path); have != want {
			t.Errorf("%q: %s, want %s", path, have, want)
		}
	}
}
