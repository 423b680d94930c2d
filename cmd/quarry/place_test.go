package main

import "testing"

func TestPlace(t *testing.T) {
	const text = "package p\n\nvar é_1 = f(x)\r\n"
	for _, c := range []struct {
		argument, path, name string
	}{
		{"a.go:3:5", "a.go", "é_1"},
		{"a.go:3:8", "a.go", "é_1"}, // at the end of the identifier
		{"a.go:3:9", "a.go", ""},
		{"a.go:3:13", "a.go", "x"},
		{"a.go:3:12", "a.go", "f"}, // at the end of f
		{"a.go:3:99", "a.go", ""},
		{"a.go:9:1", "a.go", ""},
		{"dir:with/a.go:1:1", "dir:with/a.go", "package"},
		{"a.go:0:1", "", ""},
		{"a.go:3", "", ""},
		{"Kettle::1:1", "", ""},
		{"a.go:1:9999999999", "", ""},
		{"std::vector", "", ""},
	} {
		p, ok := parsePlace(c.argument)
		if ok != (c.path != "") || ok && p.path != c.path {
			t.Errorf("%s: %+v, %t", c.argument, p, ok)
			continue
		}
		if !ok {
			continue
		}
		if name := nameAt(text, p); name != c.name {
			t.Errorf("%s: %q, want %q", c.argument, name, c.name)
		}
	}
}
