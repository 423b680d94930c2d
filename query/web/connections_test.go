package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/web"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// hostsAPI is the API of a server without connections, with code hosts that can be checked.
type hostsAPI struct{ asked []web.ConnectionPreview }

// ServeHTTP implements http.Handler.
func (h *hostsAPI) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `[]`)
}

func (h *hostsAPI) PreviewConnection(_ context.Context, in web.ConnectionPreview) (web.ConnectionFound, error) {
	h.asked = append(h.asked, in)
	if len(in.Names) == 0 {
		return web.ConnectionFound{}, errors.New("say what to look for")
	}
	found := web.ConnectionFound{Issues: []wire.ConnectionIssue{{Code: "not_found", Target: "<tea>", Message: "The target does not exist."}}}
	for i := range 60 {
		found.Repositories = append(found.Repositories, fmt.Sprintf("git.example/ann/<%d>", i))
	}
	return found, nil
}

func (h *hostsAPI) PreviewRegistration(context.Context, *wire.RegisterRequest) (string, wire.RefSelection, wire.Error) {
	return "git.example/ann/kettle", wire.RefSelection{}, wire.Error{}
}

// TestConnectionIsChecked checks that owners see what a connection would find, and the settings for
// it, and that checks are recorded without their token before a host is contacted.
func TestConnectionIsChecked(t *testing.T) {
	const token = "secret-of-ann"
	hosts := &hostsAPI{}
	w := newAPIWorld(t, hosts, nil, nil)
	w.browser.get("/admin/connections").leadsTo("/sign-in?return=%2Fadmin%2Fconnections")
	owner := w.setUp()
	owner.get("/admin/connections").expectPage(http.StatusOK, "Check a code host", "Nothing is registered")
	if !strings.Contains(owner.page, `<label for="names">Names</label>`) {
		t.Errorf("the field of names is called something else:\n%s", owner.page)
	}
	check := func(names string) *browser {
		owner.get("/admin/connections")
		return owner.submitForm("/admin/connections#check", `value="check"`, "do=check", "kind=gitea", "url=https://git.example", "token="+token, "key=users", "names="+names)
	}
	check("ann \"bob").expectPage(http.StatusOK, "60 repositories would be registered", "git.example/ann/<49>", "<tea>",
		"token: env:HUB_TOKEN", `discover: {users: ["ann","\"bob"]}`)
	if !strings.Contains(owner.page, `<ul class="plain"><li><bdi>git.example/ann/`) { // long names wrap
		t.Errorf("the list of names is wider than a narrow window:\n%s", owner.page)
	}
	if strings.Contains(owner.page, token) || strings.Contains(owner.page, "<50>") || strings.Contains(owner.page, "&lt;50&gt;") {
		t.Errorf("the page shows the token, or too much:\n%s", owner.page)
	}
	if len(hosts.asked) != 1 || hosts.asked[0].Token != token || len(hosts.asked[0].Names) != 2 {
		t.Errorf("asked %+v", hosts.asked)
	}
	last := w.notes.records[len(w.notes.records)-1]
	if last.Action != audit.CheckedConnection || last.Metadata["host"] != "git.example" || strings.Contains(fmt.Sprint(last), token) {
		t.Errorf("recorded %+v", last)
	}
	check("").expectPage(http.StatusUnprocessableEntity, "Say what to look for")
	owner.get("/admin/register").submitForm("/admin/register", `value="check"`, "do=check", "address=https://git.example/ann/kettle.git").expectPage(http.StatusOK, "git.example/ann/kettle")
	if last := w.notes.records[len(w.notes.records)-1]; last.Action != audit.CheckedRegistration || last.Metadata["repository"] != "git.example/ann/kettle" {
		t.Errorf("recorded %+v", last)
	}
	w.notes.fail = errors.New("the audit log is full")
	if check("ann"); owner.status == http.StatusOK || len(hosts.asked) != 2 {
		t.Errorf("a check that is not recorded: %d, asked %d times", owner.status, len(hosts.asked))
	}
}
