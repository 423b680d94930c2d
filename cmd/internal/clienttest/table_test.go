package clienttest

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// call is an entry of testdata/calls.yaml, which documents its members.
type call struct {
	Do        string
	Operation string `yaml:"call"`
	As        string
	Always    bool
	Path      map[string]any
	Query     map[string]any
	Header    map[string]any
	Body      any
	Bytes     any
	Lax       bool
	Wants     int
	Code      string
	Expect    map[string]any
	Until     map[string]any
	Save      map[string]string
}

func (c *call) String() string {
	if c.Wants == 0 {
		return c.Operation
	}
	return c.Operation + " " + strconv.Itoa(c.Wants)
}

func readCalls(t *testing.T) []call {
	t.Helper()
	b, err := os.ReadFile("testdata/calls.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.DisallowUnknownField()).Decode(&calls); err != nil {
		t.Fatal(err)
	}
	return calls
}

// variables holds values of earlier responses.
type variables map[string]any

var variablePattern = regexp.MustCompile(`\$\{(\w+)\}`)

// fillValue replaces the variables in v with their values. A string that consists of one
// variable becomes its value, of any type.
func (vars variables) fillValue(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		if m := variablePattern.FindStringSubmatch(v); m != nil && m[0] == v {
			value, ok := vars[m[1]]
			if !ok {
				return nil, fmt.Errorf("no earlier call has saved %s", m[1])
			}
			return value, nil
		}
		return variablePattern.ReplaceAllStringFunc(v, func(name string) string {
			value, ok := vars[strings.Trim(name, "${}")]
			if !ok {
				err = fmt.Errorf("no earlier call has saved %s", name)
			}
			return fmt.Sprint(value)
		}), err
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = vars.fillValue(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		return vars.fillMap(v)
	}
	return v, nil
}

func (vars variables) fillMap(m map[string]any) (map[string]any, error) {
	if m == nil {
		return nil, nil
	}
	out := make(map[string]any, len(m))
	for name, v := range m {
		filled, err := vars.fillValue(v)
		if err != nil {
			return nil, err
		}
		out[name] = filled
	}
	return out, nil
}

// fillCall returns c with all variables replaced.
func (c *call) fillCall(vars variables) (*call, error) {
	out := *c
	var err error
	for _, m := range []*map[string]any{&out.Path, &out.Query, &out.Header, &out.Expect, &out.Until} {
		if *m, err = vars.fillMap(*m); err != nil {
			return nil, err
		}
	}
	if out.Body, err = vars.fillValue(out.Body); err != nil {
		return nil, err
	}
	out.Bytes, err = vars.fillValue(out.Bytes)
	return &out, err
}

// valueAt returns the value at a path such as files.0.repositoryId.
func valueAt(v any, path string) (any, error) {
	for _, step := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil, fmt.Errorf("%s: no element %s of %d", path, step, len(at))
			}
			v = at[i]
		default:
			return nil, fmt.Errorf("%s: nothing below %v", path, v)
		}
	}
	return v, nil
}

// checkExpected returns an error if a value at one of the paths differs from the expected
// one.
func checkExpected(v any, want map[string]any) error {
	for path, wanted := range want {
		got, err := valueAt(v, path)
		if err != nil {
			return err
		}
		if fmt.Sprint(got) != fmt.Sprint(wanted) {
			return fmt.Errorf("%s is %v, want %v", path, got, wanted)
		}
	}
	return nil
}
