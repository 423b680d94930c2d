package answers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// commit is a commit whose subject is searched for.
type commit struct {
	source  *Source
	subject string
	files   []string // those that it changed and that still exist
}

// These are the bounds of the commits of a source.
const (
	maxCommits      = 3000
	maxChangedFiles = 10
)

var (
	pullRequest = regexp.MustCompile(`\s*\(#\d+\)|^\W*\[[\w/ -]+\]\s*`)
	dependency  = regexp.MustCompile(`(?i)^(\w+\(.*\): *)?(bump|update dependency|release|merge|revert|version|prepare)\b`)
)

// readCommits returns the commits of the sources that have a history, without merges,
// releases and updates of dependencies.
func readCommits(ctx context.Context, sources Sources) (map[*Source][]commit, error) {
	all := map[*Source][]commit{}
	for _, s := range sources {
		if _, err := os.Stat(filepath.Join(s.Dir, ".git")); err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, "git", "-C", s.Dir, "log", "--no-merges", "--no-renames", fmt.Sprint("-n", maxCommits), "--format=%x00%s", "--name-only")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("read commits of %s: %w", s.Name, err)
		}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			subject, names, _ := strings.Cut(entry, "\n")
			c := commit{source: s, subject: strings.TrimSpace(pullRequest.ReplaceAllString(subject, ""))}
			changed := strings.Fields(names)
			for _, f := range changed {
				if _, found := slices.BinarySearch(s.code, f); found {
					c.files = append(c.files, f)
				}
			}
			if len(strings.Fields(c.subject)) >= 4 && len(c.files) > 0 && len(changed) <= maxChangedFiles && !dependency.MatchString(c.subject) {
				all[s] = append(all[s], c)
			}
		}
	}
	return all, nil
}

// HistoryFamilies returns the families whose texts are the subjects of commits: as they
// are, and the words that carry their content joined with or. Any line of a changed file
// is right. It returns none if no source has a history.
func HistoryFamilies(ctx context.Context, sources Sources) ([]Family, error) {
	commits, err := readCommits(ctx, sources)
	if err != nil || len(commits) == 0 {
		return nil, err
	}
	var with Sources
	for _, s := range sources {
		if len(commits[s]) > 0 {
			with = append(with, s)
		}
	}
	draw := func(joined bool) func(r *rand.Rand) (Task, bool) {
		return func(r *rand.Rand) (Task, bool) {
			from := commits[with[r.IntN(len(with))]]
			c := from[r.IntN(len(from))]
			t := Task{Text: c.subject, From: c.source.Name + ":" + strings.Join(c.files, ","), Variant: c.source.Name, Peer: orQuery(c.subject)}
			if joined {
				t.Text = t.Peer.Text
			}
			t.Right = func(l Line) bool { return l.Repository == c.source.Name && slices.Contains(c.files, l.Path) }
			return t, t.Peer.Text != ""
		}
	}
	return []Family{{Name: "commit subject", Draw: draw(false)}, {Name: "words joined by or", Draw: draw(true)}}, nil
}

// functionWords do not carry the content of a sentence.
var functionWords = strings.Fields(`a an the of in on at to for from with without by as is are was be been if when where which that this it its and or not no do does
	so than then into only also can will should must has have had how what all any each via use used using add adds added fix fixes fixed make makes remove removed`)

var contentWord = regexp.MustCompile(`[\pL_][\pL\pN_]{2,}`)

// maxContentWords bounds the words of an orQuery.
const maxContentWords = 10

// orQuery returns the content words of a sentence joined with or, for zoekt with BM25. The
// text is empty if there are less than three.
func orQuery(sentence string) PeerQuery {
	var words []string
	for _, w := range contentWord.FindAllString(sentence, -1) {
		if w = strings.ToLower(w); !slices.Contains(functionWords, w) && !slices.Contains(words, w) && len(words) < maxContentWords {
			words = append(words, w)
		}
	}
	if len(words) < 3 {
		return PeerQuery{}
	}
	return PeerQuery{Text: strings.Join(words, " or "), BM25: true}
}
