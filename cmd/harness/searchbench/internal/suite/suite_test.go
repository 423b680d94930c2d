package suite

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestSuiteHasEveryClass(t *testing.T) {
	var files [][]byte
	for _, name := range []string{"queries-first.json", "queries.json"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	queries, err := Parse(files...)
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]bool{}
	plain := 0
	for _, q := range queries {
		classes[q.Class] = true
		if _, ok := q.Plain(); ok {
			plain++
		}
	}
	if len(queries) != 76 || len(classes) != 26 {
		t.Errorf("%d queries in %d classes, want 76 in 26", len(queries), len(classes))
	}
	if plain < 50 {
		t.Errorf("%d queries that ripgrep can answer, want at least 50", plain)
	}
	for class := range easy {
		if !classes[class] {
			t.Errorf("easy class %q has no query", class)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		`{`, `{"queries":[]}`, `{"queries":[{"class":"a","name":"b","query":" "}]}`, `{"queries":[{"class":"a","name":"b","query":"q","limit":-1}]}`,
		`{"queries":[{"class":"a","name":"b","query":"q"},{"class":"a","name":"b","query":"r"}]}`,
	} {
		if _, err := Parse([]byte(in)); !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(%s): %v, want ErrInvalid", in, err)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		query    string
		patterns []string
		ok       bool
	}{
		{`mutex_lock`, []string{`mutex_lock`}, true},
		{`"func \\w+\\(ctx"`, []string{`func \w+\(ctx`}, true},
		{`content:\{`, []string{`\{`}, true},
		{`TODO or FIXME or XXX`, []string{"TODO", "FIXME", "XXX"}, true},
		{`repo:^linux$ kthread_run`, []string{"kthread_run"}, true},
		{`kmalloc -file:^drivers/`, []string{"kmalloc"}, true},
		{`case:yes EXPORT`, []string{"EXPORT"}, true},
		{`"(a|b) c"`, []string{"(a|b) c"}, true},
		{`kmalloc kfree`, nil, false},
		{`a -b`, nil, false},
		{`(a or b) c`, nil, false},
		{`sym:x`, nil, false},
		{`lang:go x`, nil, false},
		{`type:file x`, nil, false},
		{`a or`, nil, false},
		{`repo:x`, nil, false},
	} {
		p, ok := Query{Text: c.query}.Plain()
		if ok != c.ok || (ok && !reflect.DeepEqual(p.Patterns, c.patterns)) {
			t.Errorf("%s: %q %v, want %q %v", c.query, p.Patterns, ok, c.patterns, c.ok)
		}
	}
}

func TestPlainFilters(t *testing.T) {
	p, ok := Query{Text: `repo:^(go|grpc)$ -file:_test\.go$ file:net unsafe`}.Plain()
	if !ok {
		t.Fatal("not plain")
	}
	for _, c := range []struct {
		repository, path string
		want             bool
	}{
		{"go", "net/http/server.go", true}, {"go", "NET/x.go", true}, {"go", "net/x_test.go", false}, {"gopls", "net/x.go", false}, {"grpc", "os/x.go", false},
	} {
		if got := p.Wants(c.repository, c.path); got != c.want {
			t.Errorf("Wants(%s, %s) = %v", c.repository, c.path, got)
		}
	}
}

func TestRipgrep(t *testing.T) {
	for in, want := range map[string]string{
		`func \w+\(ctx`:   `func [0-9A-Za-z_]+\(ctx`,
		`[\w.]+\s`:        `[0-9A-Za-z_.]+[\t\n\f\r ]`,
		`\bif\b`:          `(?-u:\b)if(?-u:\b)`,
		`\D\\w`:           `[^0-9]\\w`,
		`[^\x00-\x7F]{4}`: `[^\x00-\x7F]{4}`,
		`a{2,} {[{]`:      `a{2,} \{[{]`,
	} {
		if got := Ripgrep(in); got != want {
			t.Errorf("Ripgrep(%s) = %s, want %s", in, got, want)
		}
	}
}
