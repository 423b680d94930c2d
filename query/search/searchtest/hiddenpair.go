package searchtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// HiddenPair is two corpora that differ only in the text, the symbols and the paths of a
// hidden repository: in the first they contain the words of the queries.
type HiddenPair struct {
	Present, Absent *Model
	Visible         func(*code.Repository) bool
}

// NewHiddenPair generates the corpora.
func NewHiddenPair(t *testing.T, seed uint64) HiddenPair {
	rng := rand.New(rand.NewPCG(seed, 84))
	type file struct {
		repo             int
		path, text, name string
		branch           code.Ref
	}
	var files []file
	for i := range 120 {
		f := file{repo: i % 3, branch: "refs/heads/main"}
		if f.repo == 2 {
			if rng.IntN(3) == 0 {
				f.branch = "refs/heads/next"
			}
			f.path, f.name = fmt.Sprintf("src/HIDDEN%d.c", i), fmt.Sprintf("HIDDEN_%d", i)
			f.text = fmt.Sprintf("%s(void)\n", f.name) + strings.Repeat("int filler;\n", rng.IntN(900)) + "HIDDEN\nint HIDDEN common;\n" + strings.Repeat("int filler;\n", rng.IntN(900))
		} else {
			f.path, f.name = fmt.Sprintf("src/seen%d.c", i), fmt.Sprintf("seen_%d", i)
			f.text = fmt.Sprintf("%s(void)\nint common;\n", f.name) + strings.Repeat("int filler;\n", rng.IntN(900))
		}
		files = append(files, f)
	}
	rng.Shuffle(len(files), func(i, k int) { files[i], files[k] = files[k], files[i] })
	build := func(word string) *Model {
		m := &Model{Refs: []code.Ref{"refs/heads/main", "refs/heads/next"}}
		for i := range 3 {
			m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: fmt.Sprint("host/r", i), DefaultBranch: "main", Private: i == 2}})
		}
		for _, f := range files {
			fill := func(s string) string { return strings.ReplaceAll(s, "HIDDEN", word) }
			d := &ModelDocument{Text: []byte(fill(f.text)), Lang: "C", Symbols: []code.Symbol{{Name: fill(f.name), Kind: "function"}}}
			m.Documents = append(m.Documents, d)
			m.Places = append(m.Places, ModelPlace{f.repo, fill(f.path), f.branch, d})
		}
		m.BuildIndex(t, 3)
		return m
	}
	return HiddenPair{build(HiddenWord), build(otherWord), func(r *code.Repository) bool { return r.ID != 3 }}
}

// HiddenWord is the word that is in hidden text.
const (
	HiddenWord = "DB_PASSWORD=hunter2swordfish"
	otherWord  = "QX_QXQXQXQX=jvqzkxjvqzkxjvqz"
)

// HiddenQueries returns queries for the word in hidden text, and for others.
func HiddenQueries(word string) []string {
	return []string{
		word, word[:12], word[:5], "pass", "w", "swordfisk", "password hunter2", "password common", "common password", `"int ` + word + ` common"`,
		"password or common", "-password common", "regex:hunter[0-9]sword", "regex:pass.*fish", "regex:PASSWORD=[a-z]+", "regex:[a-z]{9}fish", `regex:(?s)void.*hunter`,
		"case:yes PASSWORD", "sym:" + word, "sym:hunter2", "sym:/^DB_PASSWORD/", "DB_PASSWORD", "DB PASSWORD", "file:hunter2", "file:hunter2 common", "common -file:hunter2", "file:hunter2 or common",
		"hunter2 rev:*", "common hunter2 rev:*", "type:file hunter2", "type:file file:hunter2", "type:repo hunter2", "type:symbol hunter2", "select:repo hunter2", "hunter2 lang:c", "hunter2 visibility:private",
		"is:test hunter2", "hunter3swordfish", "DB_PASSWORE", "common\nint " + word, "filler",
		"how is the password of hunter2 used", "password or hunter2 or common", "common.hunter2", "DB::" + word,
	}
}
