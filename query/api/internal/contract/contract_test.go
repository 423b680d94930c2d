package contract_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/quarrysearch/quarry/query/api/internal/contract"
	"github.com/quarrysearch/quarry/schemas/openapi"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func compile(t testing.TB) *contract.Contract {
	t.Helper()
	d, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	c, err := contract.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBody(t *testing.T) {
	o := compile(t).Operation("POST", "/api/search")
	for _, tc := range []struct{ body, want string }{
		{`{"query":"x","matches":1}`, ""},
		{`{"query":"x","matches":1,"other":[1,{}]}`, ""},
		{`{"query":"x"}`, "matches is required: want a whole number of at least 1"},
		{`{"matches":1}`, "query is required: want text that is not empty"},
		{`{"Query":"x","matches":1}`, "query is required: want text that is not empty"},
		{`{"query":"x","matches":"10"}`, "matches: want a whole number of at least 1, have text"},
		{`{"query":"x","matches":1.5}`, "matches: want a whole number of at least 1, have 1.5"},
		{`{"query":"x","matches":0}`, "matches: want a whole number of at least 1, have 0"},
		{`{"query":"x","matches":true}`, "matches: want a whole number of at least 1, have true or false"},
		{`{"query":7,"matches":1}`, "query: want text that is not empty, have a number"},
		{`{"query":7,"matches":"1"}`, "matches: want a whole number of at least 1, have text"},
		{`{"query":"x","matches":1,"whole":null}`, "whole: want true or false, have null"},
		{`{"query":"x","matches":1,"contextLines":1001}`, "contextLines: want a whole number of 0 to 1000, have 1001"},
		{`[]`, "want a JSON object, have an array"},
		{`null`, "want a JSON object, have null"},
		{`{"query":"x","matches":1e400}`, `want numbers that 64 bits hold, have "1e400"`},
		{``, "want valid JSON, have an error at byte 0: unexpected end of JSON input"},
		{`{"query":`, "want valid JSON, have an error at byte 9: unexpected end of JSON input"},
		{"{\"query\":\"\xff\"}", "want JSON in UTF-8, have bytes that are no UTF-8"},
	} {
		var in wire.SearchRequest
		if got := message(t, o.Body([]byte(tc.body), &in)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.body, got, tc.want)
		}
	}
}

// TestBodyMeansWhatJSONSays checks that the decoded value follows JSON's rules where
// encoding/json deviates from them.
func TestBodyMeansWhatJSONSays(t *testing.T) {
	o := compile(t).Operation("POST", "/api/search")
	for _, body := range []string{
		`{"query":"x","matches":1000}`,
		`{"query":"x","matches":1e3}`,
		`{"query":"x","matches":1000.0}`,
		`{"query":"x","matches":1000,"Query":"y","MATCHES":[]}`,
		`{"query":7,"matches":"1","query":"x","matches":1000}`,
		`{"query":"x","matches":1000,"Query":5,"unknown":{"query":1}}`,
	} {
		var in wire.SearchRequest
		if err := o.Body([]byte(body), &in); err != nil || in != (wire.SearchRequest{Query: "x", Matches: 1000}) {
			t.Errorf("%s: %+v, %v", body, in, err)
		}
	}
	var in wire.SearchRequest
	if err := o.Body([]byte(`{"query":"x","matches":1e300}`), &in); err != nil || in.Matches != 1<<53 {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestArraysAreNamedByPlace(t *testing.T) {
	o := compile(t).Operation("POST", "/api/tree")
	var in wire.TreeRequest
	err := o.Body([]byte(`{"repoName":"r","revisionName":"main","paths":["a",2]}`), &in)
	if got := message(t, err); got != "paths[1]: want text, have a number" {
		t.Error(got)
	}
}

func TestQuery(t *testing.T) {
	c := compile(t)
	for _, tc := range []struct{ path, query, want string }{
		{"/api/repos", "", ""},
		{"/api/repos", "page=2&perPage=100&sort=pushed&query=&unknown=1", ""},
		{"/api/repos", "page=2&page=x", ""},
		{"/api/repos", "page=", `page: want a whole number of 1 to 1073741824, have ""`},
		{"/api/repos", "perPage=101", `perPage: want a whole number of 1 to 100, have "101"`},
		{"/api/repos", "perPage=1.0", `perPage: want a whole number of 1 to 100, have "1.0"`},
		{"/api/repos", "sort=size", `sort: want one of name, pushed, have "size"`},
		{"/api/repos", "query=%ff", "query: want text of at most 1024 characters, have bytes that are no UTF-8"},
		{"/api/source", "path=x", "repo is required: want text of at most 512 characters"},
		{"/api/deliveries", "since=2026", `since: want a time such as 2026-03-04T03:06:07Z, have "2026"`},
		{"/api/deliveries", "since=2026-03-04T03:06:07.5%2B02:00", ""},
	} {
		values, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := message(t, c.Operation("GET", tc.path).Query(values)); got != tc.want {
			t.Errorf("%s?%s: %q, want %q", tc.path, tc.query, got, tc.want)
		}
	}
}

func TestPath(t *testing.T) {
	c := compile(t)
	for value, want := range map[string]string{
		"42":                   "",
		"0":                    `repoId: want a whole number of at least 1, have "0"`,
		"x":                    `repoId: want a whole number of at least 1, have "x"`,
		"99999999999999999999": `repoId: want a whole number of at least 1, have "99999999999999999999"`,
	} {
		err := c.Operation("GET", "/api/repos/{repoId}/status").Path(func(string) string { return value })
		if got := message(t, err); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// TestFaultsAreShort checks that no input makes the message of a fault long.
func TestFaultsAreShort(t *testing.T) {
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = 'x'
	}
	err := compile(t).Operation("GET", "/api/repos").Query(url.Values{"page": {string(long)}})
	if got := message(t, err); len(got) > 200 {
		t.Errorf("%d bytes", len(got))
	}
}

func message(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*contract.Fault](err); !ok {
		t.Errorf("%T: %v, want a Fault", err, err)
	}
	return err.Error()
}

func TestOneOf(t *testing.T) {
	o := compile(t).Operation("POST", "/api/repos")
	for body, want := range map[string]string{
		`{"path":"/srv/git/x"}`:              "",
		`{"cloneUrl":"https://h/o/n"}`:       "",
		`{}`:                                 "want cloneUrl or path, one of them, have none",
		`{"name":"x"}`:                       "want cloneUrl or path, one of them, have none",
		`{"path":"/x","cloneUrl":"https:x"}`: "want cloneUrl or path, one of them, have several",
		`{"cloneUrl":""}`:                    "cloneUrl: want text of 1 to 2048 characters, have 0 characters",
	} {
		var in wire.RegisterRequest
		if got := message(t, o.Body([]byte(body), &in)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
