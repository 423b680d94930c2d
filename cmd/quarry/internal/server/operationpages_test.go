package server

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/schemas/account"
)

const htmlPage = "text/html"

var tokenOfForm = regexp.MustCompile(`name="csrf" value="[0-9a-f]{128}"`)

// withoutToken removes the form token from a page, because it differs for each address.
func withoutToken(page string) string { return tokenOfForm.ReplaceAllString(page, "") }

// submitPage submits a form of a page, with the token on that page.
func (v *visitor) submitPage(page, action string, form url.Values) (int, string) {
	v.t.Helper()
	_, _, text := v.requestPage(page, htmlPage, nil)
	token := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(text)
	if token == nil {
		v.t.Fatalf("%s has no form:\n%s", page, text)
	}
	form.Set("csrf", token[1])
	status, _, text := v.requestPage(action, htmlPage, form)
	return status, text
}

// in returns the same browser for a subtest.
func (v *visitor) in(t *testing.T) *visitor { return &visitor{t, v.client, v.base} }

// mustShow fails the test unless the page is shown and contains all the texts.
func (v *visitor) mustShow(path string, says ...string) string {
	v.t.Helper()
	status, _, text := v.requestPage(path, htmlPage, nil)
	if status != http.StatusOK {
		v.t.Fatalf("%s: status %d\n%s", path, status, text)
	}
	for _, want := range says {
		if !strings.Contains(text, want) {
			v.t.Errorf("%s does not say %q:\n%s", path, want, text)
		}
	}
	return text
}

// memberVisitor returns a browser in which the member with that e-mail address is signed
// in.
func memberVisitor(t *testing.T, s *Server, owner *visitor, email string) *visitor {
	t.Helper()
	status, text := owner.submitPage("/settings/members", "/settings/members/invite", url.Values{"role": {string(account.RoleMember)}, "days": {"1"}})
	link := regexp.MustCompile(`/invite\?token=[^<"]+`).FindString(text)
	if status != http.StatusOK || link == "" {
		t.Fatalf("invite: %d\n%s", status, text)
	}
	v := newVisitor(t, s)
	invited, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	status, _, text = v.requestPage("/invite", htmlPage, url.Values{"token": {invited.Query().Get("token")}, "email": {email}, "name": {"Bob"}, "password": {"correct horse battery"}})
	if status != http.StatusOK {
		t.Fatalf("accept the invitation: %d\n%s", status, text)
	}
	return v
}

// TestOperationPages registers repositories in a browser, hides one, and checks that a
// member gets the same pages for it as for a repository that does not exist.
func TestOperationPages(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"open", "closed"} {
		dir := filepath.Join(root, name+".git")
		runGit(t, nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
		stream := "commit refs/heads/main\ncommitter A <a@example.org> 1767229200 +0000\ndata 1\nx\n" +
			"M 100644 inline src/" + name + ".go\ndata 10\npackage p\n\nM 100644 inline picture.bin\ndata 3\n\x00\x01\x02\ncommit refs/heads/other\ncommitter A <a@example.org> 1767229300 +0000\ndata 1\ny\nfrom refs/heads/main\nM 100644 inline new.go\ndata 10\npackage q\n\ndone\n"
		runGit(t, strings.NewReader(stream), "-C", dir, "fast-import", "--quiet", "--done")
	}
	c := testConfig(t, "git.allowedRoots="+root, "limits.anonymousPerSecond=0", "limits.perSecond=0")
	c.Query.Contexts = []config.Context{{Name: "acquisition", Include: []string{"team/closed"}}, {Name: "team", Include: []string{"team/*"}}}
	s := runServer(t, c)
	owner := newVisitor(t, s)
	if status, _, text := owner.requestPage("/setup", htmlPage, url.Values{"token": {s.auth.SetupValue()}, "email": {"ada@example.com"}, "password": {"correct horse battery"}}); status != http.StatusOK {
		t.Fatalf("set-up: %d\n%s", status, text)
	}
	owner.mustShow("/repos", "No repositories are registered yet.", "Register a repository")
	pages := map[string]string{}
	for _, name := range []string{"open", "closed"} {
		form := url.Values{"address": {filepath.Join(root, name+".git")}, "name": {"team/" + name}}
		form.Set("branches", "o* nothing")
		form.Set("do", "check") // registers nothing
		if status, text := owner.submitPage("/admin/register", "/admin/register", form); status != http.StatusOK || !strings.Contains(text, `registered as <strong><bdi>team/`+name) || !strings.Contains(text, "2 of 2 branches; &#34;nothing&#34; selects no branch.") {
			t.Fatalf("check %s: %d\n%s", name, status, text)
		}
		if strings.Contains(owner.mustShow("/repos"), "team/"+name) {
			t.Fatalf("checking %s registers it", name)
		}
		form.Del("branches")
		form.Del("do")
		status, text := owner.submitPage("/admin/register", "/admin/register", form)
		if status != http.StatusOK || !strings.Contains(text, "The repository is registered.") {
			t.Fatalf("register %s: %d\n%s", name, status, text)
		}
		waitUntil(t, func() bool {
			found := regexp.MustCompile(`href="(/repos/\d+)"><strong><bdi>team/` + name).FindStringSubmatch(owner.mustShow("/repos"))
			if found != nil {
				pages[name] = found[1]
			}
			return found != nil && strings.Contains(owner.mustShow(found[1]), "up to date")
		})
	}
	if status, text := owner.submitPage("/admin/register", "/admin/register", url.Values{"address": {"/etc"}}); status != http.StatusForbidden || !strings.Contains(text, "role=\"alert\"") {
		t.Errorf("register a directory that is not allowed: %d\n%s", status, text)
	}
	if status, text := owner.submitPage("/admin/register", "/admin/register", url.Values{"address": {"/etc"}, "do": {"check"}}); status != http.StatusOK || !strings.Contains(text, "is not below an allowed directory") {
		t.Errorf("check a directory that is not allowed: %d\n%s", status, text)
	}
	owner.mustShow(pages["open"], "team/open", ">main<", "1 file is not searchable", "Re-index")
	owner.mustShow(pages["open"]+"/skipped", "picture.bin", "Binary content is not searchable.")
	owner.mustShow(pages["open"]+"/skipped?reason=too_large", "Every file of this branch is searchable, with all its symbols.")
	t.Run("why", func(t *testing.T) { checkWhyPage(t, owner.in(t)) })

	if status, text := owner.submitPage(pages["closed"], pages["closed"], url.Values{"do": {"access"}, "visibility": {"private"}}); status != http.StatusOK || !strings.Contains(text, "The decision is saved.") {
		t.Fatalf("hide: %d\n%s", status, text)
	}
	t.Run("member", func(t *testing.T) {
		bob := memberVisitor(t, s, owner.in(t), "bob@example.com")
		waitUntil(t, func() bool { return !strings.Contains(bob.mustShow("/repos"), "closed") })
		bob.mustShow("/repos", "team/open", "1 repository")
		bob.mustShow("/search/contexts?name=", `["team"]`)
		if text := bob.mustShow("/search/contexts", "context:team", "team/open"); strings.Contains(text, "acquisition") || strings.Contains(text, "closed") {
			t.Errorf("a member sees other search contexts:\n%s", text)
		}
		owner.in(t).mustShow("/search/contexts?name=", `["acquisition","team"]`)
		bob.mustShow(pages["open"], "up to date")
		decide := func(members string) (int, string) {
			return owner.in(t).submitPage(pages["closed"], pages["closed"], url.Values{"do": {"access"}, "visibility": {"private"}, "members": {members}})
		}
		if status, text := decide("bob@example.com nobody@example.com"); status != http.StatusBadRequest || !strings.Contains(text, "No user has the address nobody@example.com") || !strings.Contains(text, "bob@example.com nobody@example.com</textarea>") {
			t.Errorf("a member who is nobody: %d\n%s", status, text)
		}
		if status, text := decide("Bob@example.com,\nbob@example.com"); status != http.StatusOK || !strings.Contains(text, "bob@example.com</textarea>") {
			t.Errorf("name a member: %d\n%s", status, text)
		}
		waitUntil(t, func() bool { return strings.Contains(bob.mustShow("/repos"), "team/closed") })
		if status, text := decide(""); status != http.StatusOK || strings.Contains(text, "bob@example.com</textarea>") {
			t.Errorf("name no member: %d\n%s", status, text)
		}
		waitUntil(t, func() bool { return !strings.Contains(bob.mustShow("/repos"), "closed") })
		absent := fmt.Sprintf("/repos/%d", 1<<40)
		for _, below := range []string{"", "/skipped"} {
			hidden, _, text := bob.requestPage(pages["closed"]+below, htmlPage, nil)
			none, _, want := bob.requestPage(absent+below, htmlPage, nil)
			if hidden != http.StatusNotFound || none != hidden || differs(text, want, pages["closed"], absent) {
				t.Errorf("a hidden repository: %d, one that does not exist: %d\n%s\n%s", hidden, none, text, want)
			}
		}
		if text := bob.mustShow("/why?file=team/closed/src/closed.go", "No repository with this URL"); strings.Contains(text, "<dl") {
			t.Errorf("the page says something of a hidden repository:\n%s", text)
		}
		for _, path := range []string{"/deliveries", "/deliveries/0-0", "/admin", "/admin/register", "/admin/connections", "/admin/deadletters", "/admin/replays", "/admin/verify", "/admin/audit"} {
			if status, _, text := bob.requestPage(path, htmlPage, nil); status != http.StatusForbidden || strings.Contains(text, "team/") {
				t.Errorf("%s: %d for a member\n%s", path, status, text)
			}
		}
		for _, do := range []string{"refresh", "reindex", "remove", "access"} {
			if status, _, _ := bob.requestPage(pages["open"], htmlPage, url.Values{"do": {do}}); status != http.StatusForbidden {
				t.Errorf("%s: %d for a member", do, status)
			}
		}
	})
	t.Run("stranger", func(t *testing.T) {
		stranger := newVisitor(t, s)
		if text := stranger.mustShow("/repos", "team/open"); strings.Contains(text, "closed") || strings.Contains(text, "Register") {
			t.Errorf("somebody who is not signed in sees too much:\n%s", text)
		}
		stranger.mustShow(pages["open"], "up to date")
		stranger.mustShow("/search/contexts?name=", `["team"]`)
		for _, path := range []string{"/deliveries", "/admin", "/admin/audit"} {
			if status, _, text := stranger.requestPage(path, htmlPage, nil); status != http.StatusOK || !strings.Contains(text, "Password") || strings.Contains(text, "team/") {
				t.Errorf("%s: %d for somebody who is not signed in\n%s", path, status, text)
			}
		}
	})
	t.Run("operate", func(t *testing.T) { operatePages(t, owner.in(t), pages["open"]) })
	if status, text := owner.submitPage(pages["open"], pages["open"], url.Values{"do": {"remove"}}); status != http.StatusOK || !strings.Contains(text, "The repository is removed.") {
		t.Errorf("remove: %d\n%s", status, text)
	}
}

// differs reports whether two pages differ other than in the address that each contains.
func differs(a, b, inA, inB string) bool {
	strip := func(text, address string) string {
		return strings.NewReplacer(address, "", url.QueryEscape(address), "", strings.ToLower(url.QueryEscape(address)), "").Replace(withoutToken(text))
	}
	return strip(a, inA) != strip(b, inB)
}

// checkWhyPage requests the reason for files of each kind, by addresses of several hosts.
func checkWhyPage(t *testing.T, owner *visitor) {
	for file, says := range map[string]string{
		"team/open/src/open.go":                                         "The file is searchable.",
		"https://host.example/x":                                        "No repository with this URL",
		"team/open/-/blob/main/src/open.go":                             "The file is searchable.",
		"/browse/team/open/-/blob/src%2Fopen.go":                        "The file is searchable.",
		"https://here.example/browse/team/open@main/-/blob/src/open.go": "The file is searchable.",
		"team/open/blob/main/picture.bin":                               "Binary content is not searchable.",
		"team/open/src":                                                 "This is a directory",
		"team/open/src/Open.go":                                         "The indexed commit of the branch has no such file",
		"team/open/blob/other/src/open.go":                              "This branch, tag or commit is not indexed.",
		"team/open/blob/none/src/open.go":                               "This branch, tag or commit is not indexed.",
		"team/open":                                                     "Add the path of the file",
		"team/open/../closed/src/closed.go":                             "The indexed commit of the branch has no such file",
		"<script>alert(1)</script>":                                     "&lt;script&gt;",
		strings.Repeat("a/", 6000):                                      "No repository with this URL",
	} {
		owner.mustShow("/why?file="+url.QueryEscape(file), says)
	}
}

// operatePages redelivers a push, replays the index and reads the audit log.
func operatePages(t *testing.T, owner *visitor, repo string) {
	owner.mustShow("/admin", "Dead letters", "Documents", "Lag of the workers")
	if status, text := owner.submitPage(repo, repo, url.Values{"do": {"refresh"}}); status != http.StatusOK || !strings.Contains(text, "All branches are being compared") {
		t.Fatalf("refresh: %d\n%s", status, text)
	}
	var story string
	waitUntil(t, func() bool {
		found := regexp.MustCompile(`href="(/deliveries/\d+-\d+)"`).FindStringSubmatch(owner.mustShow("/deliveries?repository=team/open"))
		if found != nil {
			story = found[1]
		}
		return found != nil && !strings.Contains(owner.mustShow(story), ">waiting<")
	})
	owner.mustShow(story, "team/open", "From webhook to searchable", "Redeliver")
	if status, text := owner.submitPage(story, story, url.Values{}); status != http.StatusOK || !strings.Contains(text, "being processed again") {
		t.Errorf("redeliver: %d\n%s", status, text)
	}
	for path, status := range map[string]int{"/deliveries/0-99999": http.StatusNotFound, "/deliveries/x": http.StatusNotFound, "/admin/deadletters/0-99": http.StatusNotFound, "/admin/deadletters/x": http.StatusNotFound} {
		if got, _, text := owner.requestPage(path, htmlPage, nil); got != status {
			t.Errorf("%s: %d, want %d\n%s", path, got, status, text)
		}
	}
	if status, _, text := owner.requestPage("/deliveries?repository=no/such", htmlPage, nil); status != http.StatusUnprocessableEntity || !strings.Contains(text, "role=\"alert\"") {
		t.Errorf("deliveries of no repository: %d\n%s", status, text)
	}
	owner.mustShow("/admin/connections", "There are no connections yet", "quarry connections check")
	owner.mustShow("/admin/deadletters", "There are no dead letters")
	if status, text := owner.submitPage("/admin/replays", "/admin/replays", url.Values{"do": {"start"}}); status != http.StatusOK || !strings.Contains(text, "The replay has started.") {
		t.Fatalf("replay: %d\n%s", status, text)
	}
	waitUntil(t, func() bool { return strings.Contains(owner.mustShow("/admin/replays"), ">done<") })
	if status, text := owner.submitPage("/admin/replays", "/admin/replays", url.Values{"do": {"start"}, "to": {"yesterday"}}); status != http.StatusBadRequest || !strings.Contains(text, "role=\"alert\"") {
		t.Errorf("replay to no moment: %d\n%s", status, text)
	}
	if status, text := owner.submitPage("/admin/verify", "/admin/verify", url.Values{"remote": {"1"}}); status != http.StatusOK || !strings.Contains(text, "No differences.") {
		t.Errorf("verify: %d\n%s", status, text)
	}
	if status, text := owner.submitPage("/admin/verify", "/admin/verify", url.Values{"repositories": {"no/such"}}); status != http.StatusNotFound || !strings.Contains(text, "role=\"alert\"") || !strings.Contains(text, `value="no/such"`) {
		t.Errorf("verify no repository: %d\n%s", status, text)
	}
	// Each look at a page is an entry as well: without the action, those of the looks above
	// push the one of the refresh off the page.
	waitUntil(t, func() bool {
		text := owner.mustShow("/admin/audit?action=repo.reindex_requested&actor=ada@example.com")
		return strings.Contains(text, "team/open") && strings.Contains(text, "ada@example.com")
	})
	owner.mustShow("/admin/audit?since=2999-01-01", "No entries match.")
}

// TestOperationPagesWantASignIn requests pages from a server that requires sign-in.
func TestOperationPagesWantASignIn(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t, "access.anonymous=off"))
	v := newVisitor(t, s)
	for _, path := range []string{"/repos", "/repos/1", "/repos/1/skipped", "/why", "/why?file=a/b", "/deliveries", "/admin", "/admin/replays"} {
		if text := v.mustShow(path); !strings.Contains(text, `name="password"`) {
			t.Errorf("%s shows a page without a sign-in:\n%s", path, text)
		}
	}
}
