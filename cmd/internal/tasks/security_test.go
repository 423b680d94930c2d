package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// govulncheckOutput has a vulnerability of the standard library and one of a module that
// are reached, and one of a module that is only imported.
const govulncheckOutput = `{"config":{"protocol_version":"v1.0.0","go_version":"go1.26.8"}}
{"osv":{"id":"GO-2026-6617","summary":"HTTP/2 server crash"}}
{"osv":{"id":"GO-2026-7001","summary":"A module lets anybody in"}}
{"osv":{"id":"GO-2026-6860","summary":"Imported only"}}
{"finding":{"osv":"GO-2026-6617","fixed_version":"v1.26.9","trace":[{"module":"stdlib","version":"v1.26.8"}]}}
{"finding":{"osv":"GO-2026-6617","fixed_version":"v1.26.9","trace":[{"module":"stdlib","version":"v1.26.8","package":"net/http","receiver":"*Client","function":"Do"},{"module":"m","package":"m","function":"main"}]}}
{"finding":{"osv":"GO-2026-7001","fixed_version":"v0.62.0","trace":[{"module":"example.org/door","version":"v0.60.0","package":"example.org/door","function":"Open"}]}}
{"finding":{"osv":"GO-2026-6860","fixed_version":"v0.62.0","trace":[{"module":"golang.org/x/net","version":"v0.60.0","package":"golang.org/x/net/html"}]}}
`

// TestSecurity checks what makes the task fail: a vulnerability that is reached, unless its
// ID is accepted or it is one of the standard library and those are.
func TestSecurity(t *testing.T) {
	for _, test := range []struct {
		accepted string
		failure  string // part of it; empty if there is none
	}{
		{"# none\n", "2 known vulnerabilities"},
		{"stdlib too old\n", "1 known vulnerabilities"},
		{"GO-2026-7001 never given foreign input\n", "1 known vulnerabilities"},
		{"stdlib too old\nGO-2026-7001 never given foreign input\n", ""},
		{"GO-2026-6617 no HTTP/2\n\nGO-2026-7001 never given foreign input\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "accepted.txt")
		if err := os.WriteFile(path, []byte(test.accepted), 0o600); err != nil {
			t.Fatal(err)
		}
		accepted, err := readAccepted(path)
		if err != nil {
			t.Fatal(err)
		}
		goVersion, found, err := readFindings(strings.NewReader(govulncheckOutput))
		if err != nil || goVersion != "go1.26.8" || len(found) != 3 {
			t.Fatalf("read %d vulnerabilities with %q, %v; want 3 with go1.26.8", len(found), goVersion, err)
		}
		var out strings.Builder
		err = reportFindings(&out, goVersion, found, accepted)
		if test.failure == "" && err != nil || test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)) {
			t.Errorf("accepted %q: %v, want a failure with %q", test.accepted, err, test.failure)
		}
		for _, want := range []string{"net/http.*Client.Do of stdlib v1.26.8; fixed in v1.26.9", "example.org/door.Open", "2 reached", "1 more in modules, not reached"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("accepted %q: the report has no %q:\n%s", test.accepted, want, out.String())
			}
		}
	}
}

// TestSecurityRefusesMalformedInput checks that neither a reason that is missing nor an
// output that is no output of govulncheck lets a vulnerability pass.
func TestSecurityRefusesMalformedInput(t *testing.T) {
	for _, line := range []string{"GO-2026-7001\n", "CVE-2026-1 known\n"} {
		path := filepath.Join(t.TempDir(), "accepted.txt")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAccepted(path); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	for _, out := range []string{"", "{}", "no JSON", govulncheckOutput + "{"} {
		if _, _, err := readFindings(strings.NewReader(out)); err == nil {
			t.Errorf("%q is read as an output of govulncheck", out)
		}
	}
}
