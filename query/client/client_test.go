package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// server responds to requests in turn, and records them as "METHOD /path?query body".
type server struct {
	answers []answer
	asked   []string
	headers []http.Header
}

type answer struct {
	status int
	header http.Header
	body   string
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	line := r.Method + " " + r.URL.RequestURI()
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		line += " " + string(b)
	}
	s.asked, s.headers = append(s.asked, line), append(s.headers, r.Header)
	if len(s.answers) == 0 {
		return nil, errors.New("connection refused")
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	if a.header == nil {
		a.header = make(http.Header)
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func newTestClient(t *testing.T, o client.Options, answers ...answer) (*client.Client, *server) {
	t.Helper()
	s := &server{answers: answers}
	o.Transport = s
	c, err := client.New("https://code.example/", o)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func TestRequests(t *testing.T) {
	c, s := newTestClient(t, client.Options{APIKey: "qk_1"}, answer{status: 200, body: `{"files":[{"repository":"r"}],"isSearchExhaustive":true}`}, answer{status: 200, body: `{}`}, answer{status: 200, body: `{}`})
	found, err := c.Search(t.Context(), wire.SearchRequest{Query: "a b", Matches: 1})
	if err != nil || len(found.Files) != 1 || !found.IsSearchExhaustive {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := c.GetFileSource(t.Context(), client.GetFileSourceParams{Repo: "h/r", Path: "", Ref: "a&b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetDelivery(t.Context(), "../repos"); err != nil {
		t.Fatal(err)
	}
	want := []string{`POST /api/search {"query":"a b","matches":1}`, "GET /api/source?path=&ref=a%26b&repo=h%2Fr", "GET /api/deliveries/..%2Frepos"}
	if !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
	if got := s.headers[0].Get("Authorization"); got != "Bearer qk_1" {
		t.Errorf("Authorization %q, want \"Bearer qk_1\"", got)
	}
}

func TestErrors(t *testing.T) {
	c, _ := newTestClient(t, client.Options{Retries: client.NoRetries},
		answer{400, http.Header{"X-Request-Id": {"id"}}, `{"statusCode":400,"errorCode":"FAILED_TO_PARSE_QUERY","message":"no","query":{"position":3,"column":4,"advice":"a"}}`},
		answer{502, nil, "<html>"},
		answer{503, http.Header{"Retry-After": {"7"}}, `{"errorCode":"TIMEOUT"}`})
	_, err := c.Search(t.Context(), wire.SearchRequest{})
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.StatusCode != 400 || e.ErrorCode != wire.ErrorErrorCodeFAILEDTOPARSEQUERY || e.RequestID != "id" || e.Query.Column != 4 || err.Error() != "no" {
		t.Errorf("%+v", err)
	}
	if _, err = c.GetVersion(t.Context()); err == nil || err.Error() != "the server answered 502 Bad Gateway" {
		t.Error(err)
	}
	_, err = c.GetVersion(t.Context())
	if e, ok := errors.AsType[*client.Error](err); !ok || e.RetryAfter != 7*time.Second {
		t.Errorf("%+v", err)
	}
	if _, err = c.GetVersion(t.Context()); !errors.Is(err, client.ErrNoAnswer) {
		t.Error(err)
	}
}

func TestRetries(t *testing.T) {
	busy := answer{503, http.Header{"Retry-After": {"5"}}, `{}`}
	limited := answer{429, http.Header{"Retry-After": {"5"}}, `{}`}
	for _, tc := range []struct {
		name    string
		answers []answer
		write   bool
		asked   int
		waited  time.Duration
		failed  bool
	}{
		{"busy, then not", []answer{busy, {200, nil, `{}`}}, false, 2, 5 * time.Second, false},
		{"limited, then not", []answer{limited, {200, nil, `{}`}}, true, 2, 5 * time.Second, false},
		{"busy for long", []answer{busy, busy, busy, busy}, false, 3, 10 * time.Second, true},
		{"a change may have been made", []answer{busy, busy}, true, 1, 0, true},
		{"no time is named", []answer{{503, nil, ``}, {200, nil, `{}`}}, false, 2, time.Second, false},
		{"more than is borne", []answer{{429, http.Header{"Retry-After": {"31"}}, ``}}, false, 1, 0, true},
		{"no use", []answer{{404, nil, ``}}, false, 1, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newTestClient(t, client.Options{}, tc.answers...)
				began := time.Now()
				ask := func() error { _, err := c.GetVersion(t.Context()); return err }
				if tc.write {
					ask = func() error { _, err := c.RemoveRepository(t.Context(), 1); return err }
				}
				if err := ask(); (err != nil) != tc.failed {
					t.Errorf("error %v", err)
				}
				if len(s.asked) != tc.asked || time.Since(began) != tc.waited {
					t.Errorf("asked %d times in %s", len(s.asked), time.Since(began))
				}
			})
		})
	}
}

func TestPagesFollowLinks(t *testing.T) {
	link := func(target string) http.Header {
		return http.Header{"Link": {`</api/repos?page=1>; rel="first", <` + target + `>; rel="next"`}, "X-Total-Count": {"3"}}
	}
	c, s := newTestClient(t, client.Options{},
		answer{200, link("/api/repos?page=2&sort=name"), `[{"repoName":"a"},{"repoName":"b"}]`},
		answer{200, http.Header{"X-Total-Count": {"3"}}, `[{"repoName":"c"}]`},
		answer{200, link("https://other.example/api/repos?page=2"), `[{"repoName":"a"}]`})
	var names []string
	for r, err := range c.ListRepositoriesAll(t.Context(), client.ListRepositoriesParams{Sort: "name"}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.RepoName)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) || !slices.Equal(s.asked, []string{"GET /api/repos?sort=name", "GET /api/repos?page=2&sort=name"}) {
		t.Errorf("%v, asked %q", names, s.asked)
	}
	if _, err := c.ListRepositories(t.Context(), client.ListRepositoriesParams{}); err == nil || !strings.Contains(err.Error(), "leads away") {
		t.Errorf("a link to another server: %v", err)
	}
}

func TestStreams(t *testing.T) {
	for _, tc := range []struct{ body, files, err string }{
		{"data: {\"type\":\"chunk\",\"files\":[{\"repository\":\"a\"}]}\n\n: sign of life\n\ndata: {\"type\":\"final\",\"isSearchExhaustive\":true}\n\ndata: [DONE]\n\n", "a", ""},
		{"data: {\"type\":\"chunk\",\"files\":[{\"repository\":\"a\"}]}\n\n", "a", "ended in the middle"},
		{"data: {\"type\":\"error\",\"error\":{\"statusCode\":503,\"errorCode\":\"TIMEOUT\",\"message\":\"time is up\"}}\n\n", "", "time is up"},
		{"data: {\n\n", "", "read a part of the answer"},
	} {
		c, _ := newTestClient(t, client.Options{}, answer{200, nil, tc.body})
		var files []string
		_, err := c.Collect(t.Context(), wire.SearchRequest{}, func(part []wire.SearchFile) error {
			for i := range part {
				files = append(files, part[i].Repository)
			}
			return nil
		})
		if got := fmt.Sprint(err); strings.Join(files, ",") != tc.files || (tc.err == "") != (err == nil) || !strings.Contains(got, tc.err) && tc.err != "" {
			t.Errorf("%q: %v, %v", tc.body, files, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	c, _ := newTestClient(t, client.Options{}, answer{503, http.Header{"Retry-After": {"5"}}, ``})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.GetVersion(ctx); err == nil {
		t.Error("no error")
	}
}

func TestAddressIsChecked(t *testing.T) {
	for _, base := range []string{"", "code.example", "ftp://code.example", "https://"} {
		if _, err := client.New(base, client.Options{}); err == nil {
			t.Errorf("%q: no error", base)
		}
	}
}
