package mcp

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What parse takes and refuses is what the schema that agents see says, nulls aside.
func TestArgumentsAgreeWithSchemas(t *testing.T) {
	values := []string{
		`"x"`, `""`, `"a\u0000b"`, `1`, `0`, `-1`, `1.5`, `100`, `1000`, `10000`, `100000000`, `1e300`, `true`, `[]`, `{}`, `"name"`, `"desc"`, `"ten"`,
		`"` + strings.Repeat("a", 5000) + `"`,
	}
	for _, tool := range tools() {
		schema := compiled(t, tool)
		for _, p := range append(tool.params, param{name: "unknown"}) {
			for _, value := range values {
				raw := json.RawMessage(object(tool.params, p.name, value))
				_, err := parse(tool.params, raw)
				in, _ := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
				said := schema.Validate(in)
				if strings.Contains(value, `\u0000`) && err != nil {
					continue // a schema cannot say so
				}
				if (err == nil) != (said == nil) {
					t.Errorf("%s %s=%.30s: parse says %v, the schema %v", tool.name, p.name, value, err, said)
				}
				if err != nil && !errors.Is(err, errArguments) {
					t.Errorf("%s %s=%.30s: %v is no errArguments", tool.name, p.name, value, err)
				}
			}
		}
	}
}

func compiled(t *testing.T, tool *tool) *jsonschema.Schema {
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

// object has the required params and one other.
func object(params []param, name, value string) string {
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
	if err != nil || args.text("repo") != "" || args.whole("limit") != 20 || !args.flag("ignoreCase") || args.flag("groupByRepo") || args.whole("context") != 0 {
		t.Errorf("%v, %v", args, err)
	}
	for raw, want := range map[string]string{
		``: "pattern is required", `null`: "pattern is required", `{"pattern":null}`: "pattern is required", `[]`: "want a JSON object", `"x"`: "want a JSON object",
		`{"pattern":"x","lang":"go"}`: `no argument "lang"; there are pattern, repo`,
		`{"pattern":7}`:               "pattern: want a value of type string",
	} {
		if _, err := parse(grepTool.params, json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

func TestGlobs(t *testing.T) {
	for glob, cases := range map[string]struct{ matches, others string }{
		"*.go":          {"a.go dir/a.go", "a.gob go a.go/x"},
		"/*.go":         {"a.go", "dir/a.go"},
		"./a.go":        {"a.go x/a.go", "ba.go"},
		"src/*.ts":      {"src/a.ts x/src/a.ts", "mysrc/a.ts src/b/a.ts"},
		"src/**/*.ts":   {"src/a.ts src/b/a.ts src/b/c/a.ts", "src/a.tsx"},
		"**/*_test.go":  {"a_test.go x/a_test.go", "a.go"},
		"*.{ts,tsx}":    {"a.ts a.tsx", "a.tss a.js"},
		"{a,b{c,d}}.go": {"a.go bc.go bd.go", "b.go"},
		"[a-c].go":      {"a.go x/c.go", "d.go ab.go"},
		"[!a-c].go":     {"d.go", "a.go"},
		"[a^].go":       {"^.go a.go", "b.go"},
		"a?c":           {"abc", "a/c ac"},
		"docs/":         {"docs/a docs/b/c", "docs"},
		`\*.go`:         {"*.go", "a.go"},
		"a+b(1).txt":    {"a+b(1).txt", "aab1.txt"},
		"Makefile":      {"Makefile x/Makefile", "Makefile.am"},
		"wärme*":        {"wärme.txt", "warme.txt"},
		"a,b}":          {"a,b}", "a"},
	} {
		expression, err := globRegexp(glob)
		if err != nil {
			t.Errorf("%s: %v", glob, err)
			continue
		}
		re := regexp.MustCompile(expression)
		for path := range strings.FieldsSeq(cases.matches) {
			if !re.MatchString(path) {
				t.Errorf("%s (%s) does not match %s", glob, expression, path)
			}
		}
		for path := range strings.FieldsSeq(cases.others) {
			if re.MatchString(path) {
				t.Errorf("%s (%s) matches %s", glob, expression, path)
			}
		}
	}
	for _, glob := range []string{"{a", "[a", "[]", "[z-a]", "{a,{b}"} {
		if expression, err := globRegexp(glob); err == nil {
			t.Errorf("%s is %s", glob, expression)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, glob := range []string{"*.go", "**/[a-z]{x,y}", `\`, "[!", "}{"} {
		f.Add(glob)
	}
	f.Fuzz(func(t *testing.T, glob string) {
		expression, err := globRegexp(glob)
		if err != nil {
			return
		}
		if _, err := regexp.Compile(expression); err != nil {
			t.Errorf("%q is %q: %v", glob, expression, err)
		}
	})
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
