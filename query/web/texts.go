package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

//go:embed text
var textFiles embed.FS

// texts is the catalog of the texts on pages: text/en*.json, a text for each key, in a
// file for each part. Scripts import en.json, and the bundle contains the texts that they
// use.
//
// A text may contain {name} for each argument. A text that depends on a number n has the
// forms "one" and "other".
type texts struct {
	byKey map[string]textForms
}

// textForms are the forms of a text; one is empty if there is a single form.
type textForms struct{ one, other string }

// UnmarshalJSON reads a string, or an object with the forms one and other.
func (f *textForms) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.other)
	}
	var forms struct{ One, Other string }
	if err := json.Unmarshal(b, &forms); err != nil {
		return err
	}
	f.one, f.other = forms.One, forms.Other
	return nil
}

func readTexts() (*texts, error) {
	files, err := fs.Glob(textFiles, "text/en*.json")
	if err != nil {
		return nil, fmt.Errorf("web: texts: %w", err)
	}
	t := &texts{byKey: map[string]textForms{}}
	for _, file := range files {
		b, err := textFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("web: texts: %w", err)
		}
		var forms map[string]textForms
		if err := json.Unmarshal(b, &forms); err != nil {
			return nil, fmt.Errorf("web: texts: %s: %w", file, err)
		}
		for key, form := range forms {
			if _, ok := t.byKey[key]; ok {
				return nil, fmt.Errorf("web: texts: %s: %s is in another file too", file, key)
			}
			t.byKey[key] = form
		}
	}
	return t, nil
}

// format formats a text with its arguments, which are pairs of name and value; templates
// call it as text. Numbers are grouped by thousands. The number n selects the form.
func (t *texts) format(key string, arguments ...any) (string, error) {
	forms, ok := t.byKey[key]
	if !ok {
		return "", fmt.Errorf("web: no text %q", key)
	}
	if len(arguments)%2 != 0 {
		return "", fmt.Errorf("web: text %q: want pairs of name and value", key)
	}
	text, pairs := forms.other, make([]string, 0, len(arguments))
	for i := 0; i < len(arguments); i += 2 {
		name, value := fmt.Sprint(arguments[i]), arguments[i+1]
		if n, ok := wholeNumber(value); ok {
			if name == "n" && n == 1 && forms.one != "" {
				text = forms.one
			}
			value = formatNumber(n)
		}
		pairs = append(pairs, "{"+name+"}", fmt.Sprint(value))
	}
	return strings.NewReplacer(pairs...).Replace(text), nil
}

// wholeNumber returns a number of any of the types in API responses.
func wholeNumber(value any) (n int, ok bool) {
	switch value := value.(type) {
	case int:
		return value, true
	case int64:
		return int(value), true
	case *int:
		if value != nil {
			return *value, true
		}
	}
	return 0, false
}

// mustFormat is format for keys in the code: TestTexts checks that they exist.
func (t *texts) mustFormat(key string, arguments ...any) string {
	text, err := t.format(key, arguments...)
	if err != nil {
		panic(err)
	}
	return text
}

// formatNumber formats a number with its digits grouped by three.
func formatNumber(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// spans are the units of a time span, the largest first, with their texts.
var spans = []struct {
	size time.Duration
	text string
}{
	{365 * 24 * time.Hour, "years"}, {30 * 24 * time.Hour, "months"}, {24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"},
}

// formatSpan formats a time span in its largest unit.
func (t *texts) formatSpan(d time.Duration) string {
	for _, unit := range spans {
		if n := int(d / unit.size); n > 0 {
			return t.mustFormat("span_"+unit.text, "n", n)
		}
	}
	return t.mustFormat("span_seconds", "n", 0)
}

// formatAge formats how long ago a moment was; empty for the zero time.
func (t *texts) formatAge(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return t.mustFormat("ago", "age", t.formatSpan(now.Sub(at)))
}

// shortCommit returns the abbreviated ID of a commit.
func shortCommit(commit string) string { return commit[:min(len(commit), 8)] }
