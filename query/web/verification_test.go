package web_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// verifications is an API that verifies: it sends the frames, and then the given ending.
type verifications struct {
	frames []string
	fail   func(w http.ResponseWriter)
	asked  string
}

// ServeHTTP implements http.Handler.
func (v *verifications) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	v.asked = r.Method + " " + r.URL.Path + " " + string(body)
	if v.fail != nil && len(v.frames) == 0 {
		v.fail(w)
		return
	}
	for _, frame := range v.frames {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", frame)
	}
	if v.fail != nil {
		v.fail(w)
		return
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

const verified = `{"type":"summary","counts":{"repositories":2,"repositoriesTotal":2,"refs":3,"files":40,"differences":%d,"repaired":0,"unchecked":0}}`

func TestVerifyPage(t *testing.T) {
	api := &verifications{}
	w := newAPIWorld(t, api, nil, nil)
	w.setUp()
	run := func(fields ...string) *browser {
		return w.browser.get("/admin/verify").submitForm("/admin/verify", "", fields...)
	}

	api.frames = []string{`{"type":"progress","counts":{"repositories":0,"repositoriesTotal":2,"refs":0,"files":0}}`, fmt.Sprintf(verified, 0)}
	run("repositories=team/kettle  7", "remote=1").expectPage(http.StatusOK, "No differences.", "2 of 2 repositories, 3 branches and tags, 40 files", "Verify again")
	if want := `POST /api/verifications {"repositories":["team/kettle","7"],"remote":true}`; strings.TrimSpace(api.asked) != want {
		t.Errorf("asked %s, want %s", api.asked, want)
	}
	if !strings.Contains(w.browser.page, `<div class="note good" role="status"><p><strong>No differences.`) {
		t.Errorf("no differences is not a success:\n%s", w.browser.page)
	}

	t.Run("differences", func(t *testing.T) {
		api.frames = nil
		for i := range 1003 {
			api.frames = append(api.frames, fmt.Sprintf(`{"type":"difference","repoId":7,"repoName":"team/<b>","ref":"refs/heads/main","kind":"missing","message":"files of the tree","path":"a\u202e%d.go","count":3}`, i))
		}
		api.frames = append(api.frames, fmt.Sprintf(verified, 1003))
		b := run().expectPage(http.StatusOK, "1,003 differences.", "3 files, the first:", "start a replay", "3 more are not shown: quarry verify lists them.")
		if n := strings.Count(b.page, `<section class="card">`); n != 1000 {
			t.Errorf("%d differences on the page, want 1000", n)
		}
		if !strings.Contains(b.page, "team/&lt;b&gt;") || !strings.Contains(b.page, `data-u=U+202E`) {
			t.Errorf("a name is not shown as text, with its controls:\n%.3000s", b.page[strings.Index(b.page, "<section"):])
		}
	})
	t.Run("progress", func(t *testing.T) {
		now := time.Now()
		w.now = func() time.Time { now = now.Add(100 * time.Millisecond); return now }
		defer func() { w.now = time.Now }()
		api.frames = nil
		for range 2000 {
			api.frames = append(api.frames, `{"type":"progress","counts":{"repositories":0,"repositoriesTotal":2,"refs":0,"files":0}}`)
		}
		api.frames = append(api.frames, fmt.Sprintf(verified, 0))
		if n := strings.Count(run().page, `class="progress"`); n < 50 || n > 250 {
			t.Errorf("%d figures of the progress in 200 seconds, want one a second at most", n)
		}
	})
	t.Run("broken", func(t *testing.T) {
		api.frames = []string{`{"type":"difference","repoName":"team/kettle","kind":"remote","message":"moved"}`}
		defer func() { api.fail = nil }()
		for name, fail := range map[string]func(http.ResponseWriter){
			"error frame": func(w http.ResponseWriter) {
				_, _ = io.WriteString(w, `data: {"type":"error","error":{"statusCode":503,"errorCode":"UNAVAILABLE","message":"the mirrors have gone"}}`+"\n\n")
			},
			"end":   func(http.ResponseWriter) {},
			"panic": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		} {
			api.fail = fail
			b := run().expectPage(http.StatusOK, "moved", "Refresh the repository", "Verify again")
			if !strings.HasSuffix(b.page, "</html>\n") || !strings.Contains(b.page, `role="alert"`) || strings.Contains(b.page, "Nothing differs") {
				t.Errorf("%s: the page does not say that the verification ended early:\n%s", name, b.page)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		api.frames = nil
		defer func() { api.fail = nil }()
		api.fail = func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"statusCode":503,"errorCode":"UNAVAILABLE","message":"another verification is running, retry when it has finished"}`)
		}
		run("repositories=team/kettle").expectPage(http.StatusServiceUnavailable, "Another verification is running, retry when it has finished.", "[repositories: team/kettle]")
	})
	t.Run("member", func(t *testing.T) {
		api.asked = ""
		bob := w.joinMember("bob")
		bob.get("/admin/verify").expectPage(http.StatusForbidden, "Only owners can view this page.")
		bob.postForm("/admin/verify", nil).expectPage(http.StatusForbidden, "Only owners can view this page.")
		if api.asked != "" {
			t.Errorf("a member verified: %s", api.asked)
		}
	})
}
