package server

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// tableRows is a number of rows with which a table does not fit one screen, so that a browser
// displays the first rows before it has the others.
const tableRows = 48

// visitedHistory returns the git fast-import input for two commits: a few small files,
// some of them of this project, binary files that are skipped, and then a change.
func visitedHistory(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"kettle.go": "// Package kettle boils.\npackage kettle\n\nfunc Boil() int { return 100 }\n", "README.md": "# Kettle\n\nBoils *water*, [as it should](kettle.go).\n\n```go\nkettle.Boil()\n```\n", "cup.bin": "\x00\x01\x02",
	}
	for _, name := range []string{"search.go", "searchfiles.go", "searchstate.go", "searchparams.go"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "query", "web", name))
		if err != nil {
			t.Fatal(err)
		}
		files["pages/"+name] = string(text)
	}
	for i := range tableRows {
		files[fmt.Sprintf("assets/%s%02d.bin", strings.Repeat("z-long-name-", i/8), i)] = strings.Repeat("\x00", 1+i*i)
	}
	var b strings.Builder
	commit := func(mark int, seconds int, message string, files map[string]string) {
		fmt.Fprintf(&b, "commit refs/heads/main\nmark :%d\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%s\n", mark, seconds, len(message), message)
		if mark > 1 {
			fmt.Fprintf(&b, "from :%d\n", mark-1)
		}
		for path, text := range files {
			fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
		}
	}
	commit(1, 1767229200, "Boil water.", files)
	commit(2, 1767315600, "Boil less water.\n\nA cup is enough.", map[string]string{"kettle.go": strings.Replace(files["kettle.go"], "return 100", "return 98", 1)})
	return b.String() + "done\n"
}

// newPictureHost starts a host with one picture, and returns its address.
func newPictureHost(t *testing.T) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 64, 64))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(color.RGBA{R: 120, G: 60, B: 160, A: 255}), image.Point{}, draw.Src)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := png.Encode(w, picture); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(host.Close)
	return host.URL
}

// TestEveryPageInABrowser visits the pages of a server with a repository in a real browser:
// each fits a phone, has no error, loads nothing from elsewhere, and passes axe-core.
// QUARRY_WEB_SHOTS=DIR keeps pictures of them.
func TestEveryPageInABrowser(t *testing.T) {
	t.Parallel()
	modules, program := oidctest.Modules(t, "playwright-core"), oidctest.Browser(t)
	root := t.TempDir()
	dir := filepath.Join(root, "kettle.git")
	runGit(t, nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
	runGit(t, strings.NewReader(visitedHistory(t)), "-C", dir, "fast-import", "--quiet", "--done")
	spoon := newGitRepository(t, "spoon")
	spoon.ImageURL = newPictureHost(t)
	c := testConfig(t, "git.allowedRoots="+root+","+filepath.Dir(spoon.dir), "git.allowedNetworks=127.0.0.0/8", "limits.anonymousPerSecond=0", "limits.perSecond=0")
	c.Connections = []config.Connection{ // both have issues
		{Name: "shelf", Kind: code.GenericGitHost, Discover: config.Discover{Repos: []string{"file://" + root + "/nothing/*"}}},
		{Name: "hub", Kind: code.GitHub, URL: "http://127.0.0.1:1", Permissions: config.Permissions{Read: true}},
	}
	s := runServer(t, c)
	s.registerAt(t, spoon, spoon.commitFiles("spoon.go", "package spoon\n"))
	s.addDeadLetters(t, tableRows)
	owner := newVisitor(t, s)
	if status, _, text := owner.requestPage("/setup", htmlPage, url.Values{"token": {s.auth.SetupValue()}, "email": {"ada@example.com"}, "password": {"correct horse battery"}}); status != http.StatusOK {
		t.Fatalf("set-up: %d\n%s", status, text)
	}
	if status, text := owner.submitPage("/admin/register", "/admin/register", url.Values{"address": {dir}, "name": {"team/kettle"}}); status != http.StatusOK {
		t.Fatalf("register: %d\n%s", status, text)
	}
	repo := ""
	waitUntil(t, func() bool {
		if found := regexp.MustCompile(`href="(/repos/\d+)"><strong><bdi>team/kettle<`).FindStringSubmatch(owner.mustShow("/repos")); found != nil {
			repo = found[1]
		}
		return repo != "" && strings.Contains(owner.mustShow(repo), "up to date")
	})
	if status, text := owner.submitPage(repo, repo, url.Values{"do": {"refresh"}}); status != http.StatusOK {
		t.Fatalf("refresh: %d\n%s", status, text)
	}
	delivery := ""
	waitUntil(t, func() bool {
		if found := regexp.MustCompile(`href="(/deliveries/\d+-\d+)"`).FindStringSubmatch(owner.mustShow("/deliveries")); found != nil {
			delivery = found[1]
		}
		return delivery != ""
	})
	waitUntil(t, func() bool {
		return strings.Count(owner.mustShow("/admin/deadletters"), `value="replay"`) == tableRows
	})
	base, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	var cookies []map[string]string
	for _, c := range owner.client.Jar.Cookies(base) {
		cookies = append(cookies, map[string]string{"name": c.Name, "value": c.Value})
	}
	argument, err := json.Marshal(map[string]any{
		"modules": modules, "browser": program, "base": s.URL(), "cookies": cookies, "shots": os.Getenv("QUARRY_WEB_SHOTS"),
		"pages": []string{
			"/", "/search?q=boil", "/search?q=nothing_is_named_so", "/search/groups?q=boil", "/search/contexts", "/symbols", "/symbols?name=Boil", "/find", "/find?q=ket", "/find?q=%40Boil", "/find?q=%3E", "/syntax", "/shortcuts", "/preferences",
			"/repos", repo, repo + "/skipped", "/why", "/why?file=team/kettle/cup.bin", "/deliveries", delivery,
			"/admin", "/admin/register", "/admin/connections", "/admin/deadletters", "/admin/replays", "/admin/verify", "/admin/audit", "/repos/99999",
			"/browse/team/kettle", "/browse/team/kettle/-/blob/kettle.go", "/browse/team/kettle/-/blob/README.md", "/browse/team/kettle/-/blob/cup.bin", "/browse/team/kettle/-/blob/none",
			"/search?q=writer", "/browse/team/kettle/-/blob/pages/search.go?L=60-70", "/browse/team/kettle/-/blob/kettle.go?blame=1", "/browse/team/kettle/-/blob/kettle.go?L=99",
			"/browse/team/kettle/-/commits/", "/browse/team/kettle/-/commit/HEAD", "/browse/team/kettle/-/compare/HEAD~1...HEAD", "/symbols?name=fileWriter&repo=team/kettle", "/search?q=a(b",
			"/browse/team/none", "/browse/team/kettle@none",
			"/settings/keys", "/settings/keys/new", "/settings/profile", "/settings/sessions", "/settings/members",
			"/settings/saved", "/settings/saved/new?q=boil&re=1",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "node", "testdata/visit.mjs", string(argument)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// addDeadLetters appends records of unknown types, which become dead letters.
func (s *Server) addDeadLetters(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		record := event.Record{Key: event.RecordKey(code.RepositoryID(i + 1)), Value: []byte("{}"), Headers: []event.Header{
			{Name: "ce_specversion", Value: []byte("1.0")}, {Name: "ce_type", Value: []byte("com.example." + strings.Repeat("order.", (n-i)/8) + "v1")},
			{Name: "ce_id", Value: []byte("x")}, {Name: "ce_source", Value: []byte("/test")},
		}}
		if _, err := s.log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, record); err != nil {
			t.Fatal(err)
		}
	}
}
