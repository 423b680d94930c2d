package failure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	hex64   = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	hex40   = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	base64s = "8fQzX2vLk9Rb7NcT1sYw/PjUe3HdG6mA0+KxVoI4"
)

// TestMask checks that credentials are masked, and that similar strings are not.
func TestMask(t *testing.T) {
	for _, test := range []struct{ name, text, want, strict string }{
		{"our operator token", "bad line: qx_" + hex64, "bad line: qx_9f86d0…", ""},
		{"our link for a lost password", "bad line: qw_" + hex64 + "_0a1b", "bad line: qw_9f86d0…_0a1b", ""},
		{"a name like it", "func qw_read_descriptors()", "func qw_read_descriptors()", ""},
		{"our token, cut", "qt_9f86d081884c7d65", "qt_9f86d0…", ""},
		{"our token inside a word", "xqk_" + hex64 + "y", "xqk_9f86d0…y", ""},
		{"Sourcebot's", "sbk_" + hex40 + " sbst_" + hex40 + " sourcebot-" + hex40, "sbk_e69de2… sbst_e69de2… sourcebot-e69de2…", ""},
		{"GitHub's", "ghp_16C7e42F292c6912E7710c838347Ae178B4a github_pat_11AAAAAAA0aaaaaaaaaaaa_bbbbbbbbb", "ghp_*** github_pat_***", ""},
		{"GitLab's", "glpat-xYz12345678901234567", "glpat-***", ""},
		{"Amazon's", "AKIAIOSFODNN7EXAMPLE", "AKIA***", ""},
		{"Amazon's secret", base64s, "***", ""},
		{"userinfo", "fatal: unable to access 'https://u:p@ss@git.example.org/a.git/': 403", "fatal: unable to access 'https://***@git.example.org/a.git/': 403", ""},
		{"user alone", "https://token@h/x", "https://***@h/x", ""},
		{"header", "Authorization: Basic dTpw", "Authorization: ***", ""},
		{"our own advice", "send an API key as Authorization: Bearer KEY", "send an API key as Authorization: Bearer KEY", ""},
		{"quoted header", `"PRIVATE-TOKEN": "abcdefgh"`, `"PRIVATE-TOKEN": "***"`, ""},
		{"bearer", "sent Bearer abcDEF123456", "sent Bearer ***", ""},
		{"JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "eyJ***", ""},
		{"PEM", "key -----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAbc=\n-----END RSA PRIVATE KEY----- end", "key *** end", ""},
		{"PEM without an end", "key -----BEGIN PRIVATE KEY-----\nMIIEow\nremote: Abc=", "key ***", ""},
		{"PEM without a beginning", "MIIEow\nAbc=\n-----END PRIVATE KEY-----\nfatal: x", "***\nfatal: x", ""},
		{"setting", "bad config line: password=correct-horse", "bad config line: password=***", ""},
		{"setting in quotes", `api_key: "hunter22"`, `api_key: "***"`, ""},
		{"long hexadecimal", "0123456789abcdef0123456789abcdef01234567890abcde", "01234567…", ""},
		{"base 36", "k3j9x8w2v7u1t6s5r4q0p9o8n7m6l5k4j3", "***", ""},

		{"object name", "bad object " + hex40, "bad object " + hex40, "bad object e69de29b…"},
		{"digest", "sha256:" + hex64, "sha256:" + hex64, "sha256:9f86d081…"},
		{"loose object", "objects/e6/" + hex40[2:], "objects/e6/" + hex40[2:], "objects/e6/9de29bb2…"},
		{"UUID", "delivery 550e8400-e29b-41d4-a716-446655440000", "delivery 550e8400-e29b-41d4-a716-446655440000", ""},
		{"path", "open /var/lib/quarry/Mirrors/GoLand2024/SomeProjectWithALongName/refs/heads/main: no such file", "open /var/lib/quarry/Mirrors/GoLand2024/SomeProjectWithALongName/refs/heads/main: no such file", ""},
		{"name in code", "pipeline/indexer TestReindexAllRefsOfARepositoryAfterReset2", "pipeline/indexer TestReindexAllRefsOfARepositoryAfterReset2", ""},
		{"identifier", "qt_metacall_of_this_object(); qk_beadedfaced()", "qt_metacall_of_this_object(); qk_beadedfaced()", ""},
		{"environment", "npm_config_registry_of_this_machine", "npm_config_registry_of_this_machine", ""},
		{"our own words", "git.credentials: token: not found; check the password of the connection", "git.credentials: token: not found; check the password of the connection", ""},
		{"ssh address", "git@github.com: Permission denied (publickey).", "git@github.com: Permission denied (publickey).", ""},
		{"basic authentication", "basic authentication is off", "basic authentication is off", ""},
	} {
		if got := Mask(test.text); got != test.want {
			t.Errorf("%s: Mask is %q, want %q", test.name, got, test.want)
		}
		want := test.strict
		if want == "" {
			want = test.want
		}
		if got := maskStrictly(test.text); got != want {
			t.Errorf("%s: strictly masked it is %q, want %q", test.name, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mred\x00\r\nb\tc":    `a\x1b[31mred\x00\x0d\nb\tc`,
		"\u202egnp.exe\u2028":         `\u202egnp.exe\u2028`,
		"\xff\xfe":                    "\uFFFD",
		"12345678901234567890é234567": "12345678901234567890…", // 24 bytes, without half a character
	} {
		if got := Clean(text, 24); got != want && len(want) <= 24 || len(want) > 24 && Clean(text, 100) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	// Truncation leaves no half of a token.
	if got := Clean(strings.Repeat("x ", 10)+"ghp_16C7e42F292c6912E7710c838347Ae178B4a", 30); strings.Contains(got, "16C7") {
		t.Errorf("a cut token: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("Authorization: Basic dTpw https://u:p@h qt_"+hex64, 40)
	f.Add("-----BEGIN X-----\n\x1b\u202e", 8)
	f.Fuzz(func(t *testing.T, text string, max int) {
		if max < 8 || max > 1<<20 {
			return
		}
		for _, f := range []func(string, int) string{Clean, Quote} {
			got := f(text, max)
			if len(got) > max || !utf8.ValidString(got) || strings.IndexFunc(got, isUnsafeRune) >= 0 {
				t.Fatalf("%q", got)
			}
			if again := f(got, max); len(got) < max-len(ellipsis) && again != got {
				t.Fatalf("%q, and again %q", got, again)
			}
		}
	})
}

func TestCodes(t *testing.T) {
	sentinel := New(Vanished, "repository is not there")
	for _, test := range []struct {
		err  error
		want Code
	}{
		{nil, Other},
		{errors.New("x"), Other},
		{sentinel, Vanished},
		{fmt.Errorf("fetch: %w: %w", errors.New("permanent"), sentinel), Vanished},
		{With(Rejected, fmt.Errorf("apply: %w", sentinel)), Vanished},
		{With(Rejected, errors.New("x")), Rejected},
		{fmt.Errorf("x: %w", context.Canceled), Canceled},
		{context.DeadlineExceeded, Timeout},
	} {
		if got := CodeOf(test.err); got != test.want {
			t.Errorf("%v: %s, want %s", test.err, got, test.want)
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", sentinel), sentinel) || With(Git, nil) != nil {
		t.Error("an error lost its identity, or nil became one")
	}
	if Parse("vanished") != Vanished || Parse("qt_secret") != Other {
		t.Error("Parse lets an unknown code through")
	}
	seen := map[Code]bool{}
	for _, d := range Codes() {
		for _, text := range []string{d.Meaning, d.Remedy} {
			if !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "\n|") || Clean(text, 1000) != text {
				t.Errorf("%s: %q is not a sentence of the table", d.Code, text)
			}
		}
		if seen[d.Code] {
			t.Errorf("%s is there twice", d.Code)
		}
		seen[d.Code] = true
	}
	if !seen[Other] || Describe("x").Code != Other {
		t.Error("an unknown code has no description")
	}
}

func BenchmarkMaskKnown(b *testing.B) {
	for b.Loop() {
		MaskKnown("repo:github.com/quarrysearch/quarry lang:go func NewReader\\(")
	}
}

func BenchmarkClean(b *testing.B) {
	text := strings.Repeat("fatal: unable to read tree "+hex40+"\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Clean(text, MaxDetailBytes)
	}
}
