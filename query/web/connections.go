package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// connectionsPath is the path of the connections page.
const connectionsPath = "/admin/connections"

// ConnectionPreview is a connection that the settings do not have. Key is the key of discover that
// Names are for.
type ConnectionPreview struct {
	Kind                  code.HostKind
	URL, User, Token, Key string
	Names                 []string
}

// ConnectionFound is what a connection would find: names of repositories, and what is wrong.
type ConnectionFound struct {
	Repositories []string
	Issues       []wire.ConnectionIssue
}

// maxShownFound bounds the names that a check of a connection shows.
const maxShownFound = 50

// connectionsData is the data of the connections page.
type connectionsData struct {
	Connections []wire.Connection
	CanCheck    bool
	Kinds, Keys []choice
	Fields      []input
	Checked     *ConnectionFound // nil: nothing was checked
	Total       int              // of the repositories of Checked
	MoreIssues  int              // of Checked, as of a sync: all are shown
	Settings    string           // of what was checked
}

// Issues returns the issues of the check.
func (d *connectionsData) Issues() []wire.ConnectionIssue { return d.Checked.Issues }

func (s *Server) connectionsPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showConnections(w, v, form{}, 0)
}

func (s *Server) showConnections(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	return s.showConnectionsChecked(w, v, f, &connectionsData{}, status)
}

// showConnectionsChecked lists the connections with the state of their syncs, webhooks and
// permissions, and the form that checks one, with the answer in d.
func (s *Server) showConnectionsChecked(w http.ResponseWriter, v *pageRequest, f form, d *connectionsData, status int) error {
	var err error
	if d.Connections, err = s.operationsOf(v).ListConnections(v.r.Context()); err != nil {
		return operationError(v, err)
	}
	d.CanCheck = s.o.PreviewConnection != nil
	choices := func(name string, values ...string) []choice {
		out := make([]choice, len(values))
		for i, value := range values {
			out[i] = choice{Value: value, Label: value}
		}
		return markChosen(f.Get(name), out...)
	}
	d.Kinds = choices("kind", string(code.GitHub), string(code.GitLab), string(code.Gitea), string(code.Gerrit), string(code.BitbucketServer), string(code.BitbucketCloud), string(code.AzureDevOps))
	d.Keys = choices("key", "orgs", "users", "groups", "workspaces", "projects", "repos", "all")
	for _, name := range []string{"url", "user", "token", "names"} {
		kind := "text"
		if name == "token" {
			kind = "password"
		}
		d.Fields = append(d.Fields, f.newInput(input{Name: name, Type: kind, Label: s.texts.mustFormat("connections_" + name), Hint: s.texts.mustFormat("connections_" + name + "_hint"), Complete: "off", Max: code.MaxURLBytes}))
	}
	return s.renderPage(w, v, view{template: "connections", title: s.texts.mustFormat("connections"), status: status, form: f, data: d})
}

// postConnections requests an immediate sync of the connection that the form names, or checks the
// one that it describes.
func (s *Server) postConnections(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if f.Get("do") == "check" && s.o.PreviewConnection != nil {
		return s.checkConnection(w, v, f)
	}
	if f.Get("connection") == "" {
		return errNoPage
	}
	if _, err := s.operationsOf(v).SyncConnections(v.r.Context(), wire.ConnectionSyncRequest{Name: f.Get("connection")}); err != nil {
		return s.showRefusal(w, v, f, err, s.showConnections)
	}
	return redirectDone(w, v, connectionsPath, "sync-asked")
}

// checkConnection shows what the connection in the form would find. It is recorded before the host
// is contacted, and without the token, which nothing keeps.
func (s *Server) checkConnection(w http.ResponseWriter, v *pageRequest, f form) error {
	in := ConnectionPreview{
		Kind: code.HostKind(f.Get("kind")), URL: f.Get("url"), User: f.Get("user"), Token: strings.TrimSpace(f.Secret("token")), Key: f.Get("key"), Names: strings.Fields(f.Get("names")),
	}
	host := ""
	if u, err := url.Parse(in.URL); err == nil {
		host = u.Host
	}
	if err := s.recordRead(w, v, audit.CheckedConnection, http.StatusOK, "kind", string(in.Kind), "host", host); err != nil {
		return err
	}
	found, err := s.o.PreviewConnection(v.r.Context(), in)
	if err != nil {
		f.addError("", toSentence(err.Error()))
		return s.showConnections(w, v, f, http.StatusUnprocessableEntity)
	}
	d := &connectionsData{Checked: &found, Total: len(found.Repositories), Settings: writeConnection(&in)}
	found.Repositories = found.Repositories[:min(len(found.Repositories), maxShownFound)]
	return s.showConnectionsChecked(w, v, f, d, 0)
}

// writeConnection returns the settings of a connection, with the place of its token.
func writeConnection(in *ConnectionPreview) string {
	quote := func(v any) string {
		text, _ := json.Marshal(v) // text and lists of text; YAML reads JSON
		return string(text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "connections:\n  - name: hub\n    kind: %s\n", in.Kind)
	for _, line := range [][2]string{{"url", in.URL}, {"user", in.User}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "    %s: %s\n", line[0], quote(line[1]))
		}
	}
	if in.Token != "" {
		b.WriteString("    token: env:HUB_TOKEN\n")
	}
	if in.Key == "all" {
		b.WriteString("    discover: {all: true}\n")
	} else {
		fmt.Fprintf(&b, "    discover: {%s: %s}\n", in.Key, quote(in.Names))
	}
	b.WriteString("    secrets: [\"env:HUB_HOOK_SECRET\"]")
	return b.String()
}
