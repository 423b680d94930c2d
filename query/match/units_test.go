package match

import "testing"

// TestCommentStart checks which lines above a definition belong to it.
func TestCommentStart(t *testing.T) {
	for text, want := range map[string]string{
		"x := 1\n// a\n// b\nfunc ":            "// a\n// b\nfunc ",
		"x := 1\n/* a\n   b\n*/\nint ":         "/* a\n   b\n*/\nint ",
		"}\n/** a\n * b\n */\n@Test\npublic ":  "/** a\n * b\n */\n@Test\npublic ",
		"}\n# a\n@cached\ndef ":                "# a\n@cached\ndef ",
		"// a\n\nfunc ":                        "func ",
		"x()\nfunc ":                           "func ",
		"func ":                                "func ",
		"b */\nfunc ":                          "b */\nfunc ",
		"/* a */\nx := 1\n/* one line */\nfn ": "/* one line */\nfn ",
	} {
		if got := text[commentStart([]byte(text)):]; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
