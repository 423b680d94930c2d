package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// These are the texts that a hostile host makes git print.
const (
	canaryCredential = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	canaryPath       = "/srv/canary/operator.token"
)

// logBuffer is a log buffer that is safe for concurrent use.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestFailureTextIsNotPublished registers a repository whose host makes git print a
// credential and a path of the server, and calls every operation in every role. The
// credential must appear nowhere: in no response, not in the log, and in no file of the
// data directory. Only owners and the operator may see the path.
func TestFailureTextIsNotPublished(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "Authorization: Basic %s\nbad line in %s: qx_%s %s\n", canaryCredential, canaryPath, canaryCredential, canaryCredential)
	}))
	defer host.Close()
	var log logBuffer
	logger, err := boot.NewLogger(&log, slog.LevelDebug, boot.FormatText)
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, "git.allowedProtocols=http", "git.allowedNetworks=127.0.0.0/8")
	s, err := Open(t.Context(), Options{Config: c, Logger: logger, Registerer: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a second Close, after the test's own
	stop := run(t, s)
	repository := code.Repository{ID: code.NewRepositoryID("test", "hostile"), Kind: code.GenericGitHost, Name: "host.example/hostile", CloneURL: host.URL + "/hostile.git"}
	if _, _, err := s.registrar.Register(t.Context(), repository); err != nil {
		t.Fatal(err)
	}
	if _, err := s.registrar.Refresh(t.Context(), repository.ID); err != nil {
		t.Fatal(err)
	}
	var letters []ledger.DeadLetter
	waitUntil(t, func() bool {
		letters, _, _ = s.apiOptions.DeadLetters.ListDeadLetters(t.Context(), ledger.DeadLetterQuery{})
		return len(letters) == 2
	})
	w := canaryWorld(t, s)
	hostile := &secret{mark: "hostile", id: repository.ID, name: repository.Name}
	rows := slices.Clone(moreRows)
	for _, row := range seenRows {
		rows = append(rows, row)
	}
	for _, l := range letters {
		rows = append(rows, seenRow{path: fixedPath(fmt.Sprintf("/api/deadletters/%d/%d", l.Position.Partition, l.Position.Offset))},
			seenRow{path: fixedPath(fmt.Sprintf("/api/deliveries/%d-%d", l.Of.Partition, l.Of.Offset))})
	}
	for _, tool := range []string{"list_commits", "read_file", "list_tree", "get_diff", "get_blame", "list_branches", "glob"} {
		rows = append(rows, seenRow{path: fixedPath("/api/mcp"), body: toolCall(tool, `"repo":"{name}","path":"a","pattern":"*","base":"a","head":"b","ref":"main"`)})
	}
	for _, x := range w.roles {
		owner := x.name == "owner" || x.name == "operator"
		paths := 0
		for _, row := range rows {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				body := ""
				if row.body != nil {
					body = row.body(hostile)
				}
				if (method == http.MethodPost) != (body != "" || strings.HasPrefix(row.path(hostile), "/api/verifications")) {
					continue
				}
				answer := w.sendRequest(x.name, method, row.path(hostile), body).Body.String()
				if strings.Contains(answer, canaryCredential[6:14]) {
					t.Errorf("%s: %s %s tells the credential: %.500s", x.name, method, row.path(hostile), answer)
				}
				if strings.Contains(answer, canaryPath) {
					paths++
					if !owner {
						t.Errorf("%s: %s %s tells the path: %.500s", x.name, method, row.path(hostile), answer)
					}
				}
			}
		}
		if owner && paths < 3 { // in the status, dead letters and deliveries
			t.Errorf("%s sees the path in %d answers", x.name, paths)
		}
		status := w.sendRequest(x.name, http.MethodGet, "/api/repos/"+repository.ID.String()+"/status", "").Body.Bytes()
		var out struct {
			LastError struct{ Code, Message, Detail string }
		}
		if err := json.Unmarshal(status, &out); err != nil || out.LastError.Code != "unauthorized" || !strings.Contains(out.LastError.Message, "Renew the credential") || (out.LastError.Detail != "") != owner {
			t.Errorf("%s: %s", x.name, status)
		}
	}
	stop()
	if strings.Contains(log.String(), canaryCredential[6:14]) || !strings.Contains(log.String(), "host.example") && !strings.Contains(log.String(), canaryPath) {
		t.Errorf("the log:\n%s", log.String())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	err = filepath.WalkDir(c.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(canaryCredential[6:30])) {
			t.Errorf("%s holds the credential", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// canaryWorld returns callers of s: an anonymous one, a member, an owner and the
// operator.
func canaryWorld(t *testing.T, s *Server) *seenWorld {
	t.Helper()
	service, err := auth.NewService(auth.Options{Directory: &decisions{access: map[code.RepositoryID]*account.Access{}}, Appender: noAppender{},
		Secret: make([]byte, auth.MinSecretBytes), Catalog: s.repositories})
	if err != nil {
		t.Fatal(err)
	}
	w := &seenWorld{t: t}
	for _, x := range everyRole(nil) {
		if slices.Contains([]string{"anonymous", "member", "owner", "operator"}, x.name) {
			w.roles = append(w.roles, x)
		}
	}
	o := s.apiOptions
	o.Gate, o.Accounts, o.Audit, o.Registerer = &roleGate{service, w.roles}, service, noAudit{}, prometheus.NewRegistry()
	o.Limits = front.Limits{PerSecond: 1 << 20, Burst: 1 << 20, AnonymousPerSecond: 1 << 20, AnonymousBurst: 1 << 20}
	if w.api, err = api.New(o); err != nil {
		t.Fatal(err)
	}
	return w
}
