package assist

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// proseModel returns a corpus with prose that has all words of some sentences far apart,
// and code that has most of them close together.
func proseModel(t *testing.T) *searchtest.Model {
	t.Helper()
	m := &searchtest.Model{}
	far := strings.Repeat(`\n`, 40)
	m.AddSources(t, strings.Join([]string{
		`host/web CHANGELOG.md - Markdown the worker is new` + far + `it can retry` + far + `does connect` + far + `how a broker was lost` + far + `when to`,
		`host/web src/connection.go - Go func reconnect() {\n// retries to connect to the broker of the worker\n}\n`,
		`host/web src/worker.go - Go func worker() { connect() }\n`,
		`host/web src/connection_test.go test Go // retries to connect to the broker of the worker\n`,
		`host/web src/limits.go - Go var rate = 1 // rate\n`,
	}, "\n"))
	m.AddSources(t, strings.Join([]string{
		`host/db src/broker.go - Go struct broker {} // lost\n`,
		`host/db src/alpha.go - Go alpha\n`,
		`host/db src/all.go - Go alpha beta gamma\n`,
		`host/db src/beta.go - Go beta` + strings.Repeat(` beta beta`, 200) + `\n`,
	}, "\n"))
	return m
}

// TestProse checks the answers to sentences, and to an or of several terms.
func TestProse(t *testing.T) {
	m := proseModel(t)
	const retries = "how does the worker retry to connect when the broker is lost"
	for _, tc := range []struct {
		text  string
		paths []string // the first files
		reads bool     // as words of which most are in a file
	}{
		{retries, []string{"src/connection.go", "src/worker.go"}, true},
		{"lang:go " + retries + "?", []string{"src/connection.go"}, true},
		{"repo:db " + retries, []string{"src/broker.go"}, true},
		{"where is the rate limited", []string{"src/limits.go"}, true},
		{"worker broker zeppelin", []string{"src/worker.go", "src/connection.go"}, true},
		{"gamma or alpha or beta", []string{"src/all.go"}, false},
		{"alpha beta gamma", []string{"src/all.go"}, false},
		{"worker wrker broker", nil, false}, // a misspelled term has advice instead
		{"zeppelin zebra zirconium", nil, false},
		{`"worker" "broker" "zeppelin"`, nil, false},
	} {
		for _, matches := range []int{1, 20, 5000} {
			r := search.Request{Query: searchtest.Parse(t, tc.text), Matches: matches, Display: 20, Related: true}
			s := newSearcher(search.Options{})
			got, err := s.Search(t.Context(), m, r)
			if err != nil {
				t.Fatal(err)
			}
			reads := len(got.Notices) > 0 && got.Notices[0].Code == syntax.PastedText
			var paths []string
			for _, f := range got.Files {
				paths = append(paths, f.Path)
			}
			if reads != tc.reads || len(paths) < min(len(tc.paths), matches) || !slices.Equal(paths[:min(len(tc.paths), len(paths))], tc.paths[:min(len(tc.paths), len(paths))]) || tc.paths == nil && paths != nil {
				t.Errorf("%s, %d matches: %v, %v, %s", tc.text, matches, paths, got.Notices, got.Stopped)
			}
			if reads {
				literal := searchtest.Parse(t, got.Notices[0].Suggestions[0])
				if !syntax.Equal(literal.Root, r.Query.Root) || readProse(&search.Request{Query: literal}) != nil {
					t.Errorf("%s: the literal query is %s", tc.text, literal.Text)
				}
			}
			if reads && got.Exhaustive {
				t.Errorf("%s: an answer of the best files is not exhaustive", tc.text)
			}
			streamed, _ := collectParts(t, s, m, r)
			if a, b := namesInOrder(streamed), namesInOrder(got); !slices.Equal(a, b) || fmt.Sprint(streamed.Notices) != fmt.Sprint(got.Notices) || len(streamed.Related) != len(got.Related) {
				t.Errorf("%s, %d matches: %d files streamed, %d at once", tc.text, matches, len(a), len(b))
			}
			got.Release()
		}
	}
}

// TestProseIsRelated checks that files with most of the words follow an answer that is
// only prose.
func TestProseIsRelated(t *testing.T) {
	m := proseModel(t)
	m.AddSources(t, `host/web docs/guide.md - Markdown the worker retries to connect to the broker now`)
	r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, "the worker retries to connect to the broker now"), Matches: 20, Related: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 1 || r.Files[0].Path != "docs/guide.md" || len(r.Related) != 1 || r.Related[0].Reason != search.RelatedWords || r.Related[0].Files[0].Path != "src/connection.go" {
		t.Errorf("%+v, related %+v", r.Files, r.Related)
	}
}

// TestRankedReadsFewDocuments checks that a ranked search reads a bounded number of
// documents, the best ones wherever they are.
func TestRankedReadsFewDocuments(t *testing.T) {
	m := &searchtest.Model{}
	var lines []string
	for i := range 600 {
		lines = append(lines, fmt.Sprintf(`host/a src/%d.go - Go the alpha %d of a beta\n%s\n`, i, i, strings.Repeat("filler ", 700)))
	}
	for i := range 3 {
		m.AddSources(t, strings.Join(lines[i*200:i*200+200], "\n"))
	}
	m.AddSources(t, `host/a src/best.go - Go alpha gamma beta\n`)
	r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, "where is the alpha of gamma with beta delta"), Matches: 10})
	if err != nil {
		t.Fatal(err)
	}
	if r.Files[0].Path != "src/best.go" || r.Stats.Files > 100 {
		t.Errorf("%s of %d files", r.Files[0].Path, r.Stats.Files)
	}
}

// TestChangelogIsNotTheAnswer checks that the code comes before the entry of a changelog that
// has all words of a sentence, and that code with such a name is no changelog.
func TestChangelogIsNotTheAnswer(t *testing.T) {
	for file, first := range map[string]string{
		"HISTORY.md - Markdown": "src/connection.go", "docs/release-notes-2.rst - reStructuredText": "src/connection.go", "src/history.go - Go": "src/history.go",
	} {
		m := proseModel(t)
		m.AddSources(t, "host/web posts/news-of-today.md - Text the worker retries to connect to the broker now\nhost/web "+file+" the worker retries to connect to the broker now")
		for _, matches := range []int{20, 5000} {
			r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, "the worker retries to connect to the broker now"), Matches: matches, Display: 20})
			if err != nil {
				t.Fatal(err)
			}
			path, _, _ := strings.Cut(file, " ")
			if len(r.Files) == 0 || r.Files[0].Path != first || !slices.ContainsFunc(r.Files, func(f search.FileMatch) bool { return f.Path == path }) {
				t.Errorf("%s, %d matches: %d files, first %s", file, matches, len(r.Files), r.Files[0].Path)
			}
		}
	}
}

// TestPoorAnswers checks that files with most of the words are the answer to plain words that
// a changelog has alone, also as a line of code, and to a sentence whose words are near each
// other by chance.
func TestPoorAnswers(t *testing.T) {
	lines := strings.Repeat(`// filler\n`, 3)
	for text, source := range map[string]string{
		"worker retries connect broker lost":                    "host/web CHANGELOG.md - Markdown worker retries connect broker lost",
		"Replace `retries#connect` with `broker#lost?`":         "host/web HISTORY.md - Markdown Replace `retries#connect` with `broker#lost?`",
		"the worker retries to connect when the broker is lost": `host/web src/zone.go - Go // the worker to\n` + lines + `// when is the broker\n` + lines + `// connect, retries, lost\n`,
	} {
		m := proseModel(t)
		m.AddSources(t, source)
		for _, stream := range []bool{false, true} {
			s, r := newSearcher(search.Options{}), search.Request{Query: searchtest.Parse(t, text), Matches: 20}
			got, err := s.Search(t.Context(), m, r)
			if err != nil {
				t.Fatal(err)
			}
			if stream {
				got, _ = collectParts(t, s, m, r)
			}
			if len(got.Files) < 2 || got.Files[0].Path != "src/connection.go" || len(got.Notices) == 0 || !strings.HasPrefix(got.Notices[0].Message, "No file") {
				t.Errorf("%s, stream %t: %d files, %v", text, stream, len(got.Files), got.Notices)
			}
		}
	}
}

// TestRankedFiles checks which of two files comes first for plain words, and for the same
// words joined by or: the rules of docs/ranking.md. The files are only in the order of
// their names otherwise, which is the wrong one.
func TestRankedFiles(t *testing.T) {
	far := strings.Repeat(`// filler\n`, 60)
	for _, tc := range []struct {
		rule, words, wrong, right string
	}{
		{
			"forms of words, not parts", "how does the anchor keep refs of zeppelins",
			`src/a.go - Go // anchor\n` + strings.Repeat(`// prefixed preferred\n`, 30), `src/b.go - Go // anchor\n// refs refs\n`,
		},
		{
			"a form, not the beginning of another word", "how does the anchor keep refs of zeppelins",
			`src/a.go - Go // anchor\n` + strings.Repeat(`// refuted refuted\n`, 30), `src/b.go - Go // anchor\n// refs refs\n`,
		},
		{
			"neighbors in the query", "where is the content disposition of zeppelins",
			`src/a.go - Go // content of a disposition\n`, `src/b.go - Go // content disposition of a\n`,
		},
		{
			"neighbors in an identifier", "where is the content disposition of zeppelins",
			`src/a.go - Go // disposition of content\n`, `src/b.go - Go // ContentDispositions of it\n`,
		},
		{
			"one line", "where is the alpha with beta of zeppelins",
			`src/a.go - Go // alpha\n` + strings.Repeat(`// filler\n`, 20) + `// beta\n`, `src/b.go - Go // alpha is a beta\n` + strings.Repeat(`// filler\n`, 20),
		},
		{
			"tests if they are asked for", "fix failing tests for alpha and beta and zeppelins",
			`src/a.go - Go // alpha is a beta\n`, `src/a_test.go test Go // alpha is a beta\n`,
		},
		{
			"no tests otherwise", "fix failing code for alpha and beta and zeppelins",
			`src/a_test.go test Go // alpha is a beta\n`, `src/b.go - Go // alpha is a beta\n`,
		},
		{
			"an entry of a changelog next to code with all words", "allow alpha as input for the beta prompt",
			`CHANGES.md - Markdown allow alpha as input for the beta prompt\n`,
			`src/b.go - Go // the prompt\n` + far + `// for beta\n` + far + `// allow\n` + far + `// as alpha input\n`,
		},
	} {
		words := readProse(&search.Request{Query: searchtest.Parse(t, tc.words)})
		if words == nil {
			t.Fatalf("%s: %q is not read as words", tc.rule, tc.words)
		}
		var joined []string
		for _, w := range words.Words {
			joined = append(joined, w.Stem)
		}
		if strings.Contains(tc.words, "tests") {
			joined = append(joined, "tests")
		}
		for len(joined) < 3 {
			joined = append(joined, "airships")
		}
		for _, text := range []string{tc.words, strings.Join(joined, " or ")} {
			m := &searchtest.Model{}
			m.AddSources(t, "host/a "+tc.wrong+"\nhost/a "+tc.right)
			s := newSearcher(search.Options{})
			r, err := s.Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, text), Matches: 1000, Display: 20})
			if err != nil {
				t.Fatal(err)
			}
			if right, _, _ := strings.Cut(tc.right, " "); len(r.Files) != 2 || r.Files[0].Path != right {
				t.Errorf("%s: %s: %d files, the first is %s", tc.rule, text, len(r.Files), r.Files[0].Path)
			}
		}
	}
}

// TestRankedAnswerHasManyFiles checks that a ranked answer shows a few matches of each file
// before it shows more of one.
func TestRankedAnswerHasManyFiles(t *testing.T) {
	m := &searchtest.Model{}
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("host/a src/%02d.go - Go %s", i, strings.Repeat(`// alpha beta gamma\n`, 10)))
	}
	m.AddSources(t, strings.Join(lines, "\n"))
	for _, text := range []string{"where is the alpha of a beta with gamma and zeppelins", "alpha or beta or gamma"} {
		r, err := newSearcher(search.Options{}).Search(t.Context(), m, search.Request{Query: searchtest.Parse(t, text), Matches: 1000, Display: 30})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Files) != 30/3 || r.Stats.Displayed != 30 {
			t.Errorf("%s: %d files, %d matches", text, len(r.Files), r.Stats.Displayed)
		}
	}
}
