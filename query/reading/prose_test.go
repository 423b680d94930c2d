package reading

import (
	"os"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/syntax"
)

// TestReadProse checks which texts are prose, and the stems of their words.
func TestReadProse(t *testing.T) {
	for text, want := range map[string]string{
		"how does the worker retry connecting to the broker when it is lost": "worker retr[y|ies|ied] connect broker lost",
		"where are migrations rolled back?":                                  "migr roll back",
		"fix(tree): panic in findCaseInsensitivePathRec with RedirectPath":   "tree panic findcaseinsensitivepathrec redirectpath",
		"Use anon routing for autoqueues (skips routing table).  Closes":     "anon rout autoqueu skip tabl",
		"repo:x how is a crontab schedule parsed":                            "crontab schedul pars",
		"Adds Status() method to Context":                                    "statu method context",
		"connection pool exhausted":                                          "connect pool exhaust",
		"stopped queries of processes":                                       "stop quer[y|ies|ied] process",
		"Context.Get() does not need to test whether Keys is nil or not":     "context key nil",

		"Correctly handle encoded colons in routes (Fixes #776)":             "encod colon rout",
		"Rename \\Slim\\Slim to \\Slim\\App":                                 "renam slim app",
		"Don't use $renderer when calling `->invoke()` directly (attempt 2)": "renderer call invok directl[y|ies|ied] attempt",

		"connection pool":                                 "", // two words are searched for together
		"kmalloc or kfree or vmalloc":                     "", // operators
		"alpha beta -gamma delta":                         "",
		"alpha AND beta gamma delta":                      "",
		"(open or close) file now":                        "",
		"func (d *DB) makeRoomForWrite(b *Batch) error {": "", // code
		"if err != nil { return err }":                    "",
		`"connection" "pool" "exhausted"`:                 "",
		"content:connection pool was exhausted":           "",
		"case:yes connection pool exhausted":              "",
		"type:file connection pool exhausted":             "",
		"how does it do that":                             "",
	} {
		q, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		if p := ReadProse(q); p != nil {
			for _, w := range p.Words {
				word := w.Stem
				if len(w.Endings) > 0 {
					word += "[" + strings.Join(w.Endings, "|") + "]"
				}
				words = append(words, word)
			}
		}
		if have := strings.Join(words, " "); have != want {
			t.Errorf("%s: %q, not %q", text, have, want)
		}
	}
}

// TestDocumentedProse checks docs/query-language.md: each line of a block that begins with
// ```prose is read as plain words, and no line of ```prose nothing.
func TestDocumentedProse(t *testing.T) {
	page, err := os.ReadFile("../../docs/query-language.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for i, block := range strings.Split(string(page), "```") {
		info, text, _ := strings.Cut(block, "\n")
		nothing := info == "prose nothing"
		if i%2 == 0 || info != "prose" && !nothing {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			q, err := syntax.Parse(line, syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if examples++; (ReadProse(q) == nil) != nothing {
				t.Errorf("%s: %+v", line, ReadProse(q))
			}
		}
	}
	if examples < 8 {
		t.Errorf("only %d examples found", examples)
	}
}

// TestProseIsBounded checks the bounds of a text.
func TestProseIsBounded(t *testing.T) {
	var words []string
	for i := range 300 {
		words = append(words, "word"+strings.Repeat("x", i%7)+string(rune('a'+i%26)))
	}
	for _, n := range []int{3, 12, 100, 300} {
		q, err := syntax.Parse(strings.Join(words[:n], " "), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := ReadProse(q)
		if long := len(q.Text) > maxProseBytes; long != (p == nil) || p != nil && len(p.Words) != min(n, MaxProseWords) {
			t.Errorf("%d words, %d bytes: %+v", n, len(q.Text), p)
		}
	}
}
