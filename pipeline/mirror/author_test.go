package mirror_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// authorLines are author lines of commits that git accepts, with what every answer says.
var authorLines = []struct{ line, name, email, date string }{
	{"author Mira <m@x.org> 1700000000 +0200", "Mira", "m@x.org", "2023-11-15T00:13:20+02:00"},
	{"author Mira <m@x.org> 1700000000 -0330", "Mira", "m@x.org", "2023-11-14T18:43:20-03:30"},
	{"author Mira <m@x.org> 1700000000 -0000", "Mira", "m@x.org", "2023-11-14T22:13:20+00:00"},
	{"author Mira <m@x.org> 1700000000", "Mira", "m@x.org", "1970-01-01T00:00:00+00:00"},
	{"author Mira <m@x.org> Tue Nov 14 22:13:20 2023 +0200", "Mira", "m@x.org", "1970-01-01T00:00:00+00:00"},
	{"author Mira <m@x.org> -1700000000 +0000", "Mira", "m@x.org", "1970-01-01T00:00:00+00:00"},
	{"author Mira <m@x.org>", "Mira", "m@x.org", "1970-01-01T00:00:00+00:00"},
	{"author Mira m@x.org 1700000000 +0200", "Mira m@x.org", "", "1970-01-01T00:00:00+00:00"},
	{"author Mira", "Mira", "", "1970-01-01T00:00:00+00:00"},
	{"author Mira <m@x.org 1700000000 +0200", "Mira", "m@x.org 1700000000 +0200", "1970-01-01T00:00:00+00:00"},
	{"author ", "", "", "1970-01-01T00:00:00+00:00"},
	{"author  <> 1700000000 +0000", "", "", "2023-11-14T22:13:20+00:00"},
	{"", "", "", "1970-01-01T00:00:00+00:00"},
	{"author %aN <%aE> 1700000000 +0000", "%aN", "%aE", "2023-11-14T22:13:20+00:00"},
	{"author (unknown) <(unknown)> 1700000000 +0000", "(unknown)", "(unknown)", "2023-11-14T22:13:20+00:00"},
	{"author Mira <m@x.org> 1700000000 +51800", "Mira", "m@x.org", "2023-11-14T22:13:20+00:00"},
	{"author Mira <m@x.org> 1700000000 +0060", "Mira", "m@x.org", "2023-11-14T22:13:20+00:00"},
	{"author Mira <m@x.org> 1700000000 -2359", "Mira", "m@x.org", "2023-11-13T22:14:20-23:59"},
	{"author Mira <m@x.org> 1700000000 +2400", "Mira", "m@x.org", "2023-11-14T22:13:20+00:00"},
	{"author Mira <m@x.org> 253402300799 +0100", "Mira", "m@x.org", "9999-12-31T23:59:59+00:00"},
	{"author Mira <m@x.org> 999999999999999 +0100", "Mira", "m@x.org", "9999-12-31T23:59:59+00:00"},
	{"author Mira <m@x.org> 99999999999999999999 +0100", "Mira", "m@x.org", "1970-01-01T00:00:00+00:00"},
	{"author Mira <m@x.org> 0 -0500", "Mira", "m@x.org", "1969-12-31T19:00:00-05:00"},
}

// writeCommit writes a commit object with exactly this author line, or without one if the
// line is empty, and makes main point to it. The file a has n + 1 lines.
func writeCommit(t *testing.T, repo *gittest.Repository, n int, author string) code.CommitID {
	t.Helper()
	repo.Write("a", strings.Repeat("x\n", n)+"y\n")
	repo.Git("add", "a")
	tree := strings.TrimSpace(repo.Git("write-tree"))
	header := "tree " + tree + "\n"
	if parent, err := exec.Command("git", "-C", repo.Dir, "rev-parse", "--verify", "--quiet", "refs/heads/main").Output(); err == nil {
		header += "parent " + string(parent)
	}
	if author != "" {
		header += author + "\n"
	}
	cmd := exec.Command("git", "-C", repo.Dir, "hash-object", "-t", "commit", "-w", "--literally", "--stdin")
	cmd.Stdin = strings.NewReader(header + "committer C <c@x.org> 1700000000 +0000\n\nsubject\n")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("write a commit with author line %q: %v", author, err)
	}
	id := code.CommitID(strings.TrimSpace(string(out)))
	repo.Git("update-ref", "refs/heads/main", string(id))
	return id
}

// rfc3339 is stricter than time.Parse, which accepts hours of a zone above 23.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]([01]\d|2[0-3]):[0-5]\d$`)

// checkAuthors reads the history and the blame of the file a and checks that they agree
// and that clients can read them. It returns the entry of the newest commit.
func checkAuthors(t *testing.T, repo *gittest.Repository, commit code.CommitID) mirror.LogEntry {
	t.Helper()
	ctx := t.Context()
	m := open(t, mirror.Options{}).Mirror(1)
	if _, err := m.Fetch(ctx, code.Repository{ID: 1, Name: "r", CloneURL: repo.Dir}); err != nil {
		t.Fatalf("fetch: %v", err)
	}
	log, err := m.Log(ctx, mirror.LogQuery{Commit: commit, Limit: 100})
	if err != nil || len(log) == 0 || log[0].ID != commit {
		t.Fatalf("history: %d entries, %v; want one that begins with %s", len(log), err, commit)
	}
	e := log[0]
	at, err := time.Parse(time.RFC3339, e.Date)
	if err != nil || !rfc3339.MatchString(e.Date) {
		t.Errorf("date %q is not RFC 3339: %v", e.Date, err)
	}
	blame, err := m.Blame(ctx, commit, "a", 1<<20)
	if err != nil {
		t.Fatalf("blame: %v", err)
	}
	if c := blame.Commits[commit]; c != nil && (c.AuthorName != e.AuthorName || c.AuthorEmail != e.AuthorEmail || !c.Time.Equal(at)) {
		t.Errorf("blame says %q <%q> at %s, the history %q <%q> at %s", c.AuthorName, c.AuthorEmail, c.Time, e.AuthorName, e.AuthorEmail, e.Date)
	}
	if authors, err := m.Authors(ctx, mirror.LogQuery{Commit: commit}); err != nil || len(authors) == 0 {
		t.Errorf("%d authors, %v; want some", len(authors), err)
	}
	if branches, err := m.Branches(ctx); err != nil || len(branches) != 1 {
		t.Errorf("branches %v, %v; want one", branches, err)
	}
	return e
}

// TestAuthorLines reads commits with author lines as old importers wrote them.
func TestAuthorLines(t *testing.T) {
	for _, tc := range authorLines {
		t.Run(strings.ReplaceAll(tc.line, "/", "_"), func(t *testing.T) {
			t.Parallel()
			repo := gittest.New(t)
			e := checkAuthors(t, repo, writeCommit(t, repo, 0, tc.line))
			if e.AuthorName != tc.name || e.AuthorEmail != tc.email || e.Date != tc.date {
				t.Errorf("author line %q: %q <%q> %s, want %q <%q> %s", tc.line, e.AuthorName, e.AuthorEmail, e.Date, tc.name, tc.email, tc.date)
			}
		})
	}
}

// FuzzAuthorLine writes commit objects with any author line that git stores, and reads
// them through every operation.
func FuzzAuthorLine(f *testing.F) {
	for _, tc := range authorLines {
		f.Add(tc.line)
	}
	f.Add("author A > <b@c> <d> 1 +0100 2 +0200")
	f.Add("author \xff\xfe <\xe4> 1700000000 +0200")
	f.Add("author\tMira <m@x.org> 1700000000 +0200")
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 1000 || strings.ContainsAny(line, "\n\x00") || strings.HasPrefix(line, "tree ") || strings.HasPrefix(line, "parent ") {
			return // part of another header, or no line
		}
		repo := gittest.New(t)
		e := checkAuthors(t, repo, writeCommit(t, repo, 0, line))
		if text := fmt.Sprint(e.AuthorName, e.AuthorEmail); utf8.ValidString(line) && !utf8.ValidString(text) {
			t.Errorf("author line %q: name and address %q are not UTF-8", line, text)
		}
		if strings.Contains(e.AuthorName+e.AuthorEmail, "%a") && !strings.Contains(line, "%a") {
			t.Errorf("author line %q: a placeholder of git in %q <%q>", line, e.AuthorName, e.AuthorEmail)
		}
	})
}
