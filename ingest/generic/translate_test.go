package generic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/generic"
	"github.com/quarrysearch/quarry/ingest/signature"
)

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

// TestTranslate runs the scripts of testdata: translate [one] [url=URL] with the payload
// as input. The connection knows the names kettle and, without "one", teapot.
func TestTranslate(t *testing.T) {
	datadriven.Walk(t, "testdata/translate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c := ingest.Connection{Name: "git", Secrets: []string{secret}, Repositories: map[string]string{"kettle": "https://git.example/meadow/kettle.git"}}
			if !d.HasArg("one") {
				c.Repositories["teapot"] = "/srv/git/teapot.git"
			}
			d.MaybeScanArgs(t, "url", &c.URL)
			tr, err := generic.Open(c)
			if err != nil {
				t.Fatal(err)
			}
			delivery, err := tr.Translate(&ingest.Request{Header: http.Header{"Webhook-Id": {"msg_1"}}, Body: []byte(d.Input)})
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			b, err := json.MarshalIndent(delivery, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			return string(b) + "\n"
		})
	})
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]ingest.Connection{
		"no secret":      {},
		"plain secret":   {Secrets: []string{"hello"}},
		"bad URL":        {Secrets: []string{secret}, URL: "host"},
		"bad repository": {Secrets: []string{secret}, Repositories: map[string]string{"x": "ext::id"}},
	} {
		if _, err := generic.Open(c); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "MDEyM") {
			t.Errorf("%s: the error repeats the secret", name)
		}
	}
}

func TestVerify(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	open := func(token bool) ingest.Translator {
		tr, err := generic.Open(ingest.Connection{Name: "git", Secrets: []string{secret}, AllowToken: token})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	request := func(set func(http.Header)) *ingest.Request {
		r := &ingest.Request{Header: http.Header{}, Body: []byte("{}"), ReceivedAt: now}
		set(r.Header)
		return r
	}
	signed := func(h http.Header) {
		key, _ := signature.ParseSecret(secret)
		signature.SetStandard(h, "msg_1", time.Unix(1_700_000_000, 0), []byte("{}"), key)
	}
	bearer := func(h http.Header) { h.Set("Authorization", "Bearer "+secret) }
	for _, tc := range []struct {
		name  string
		token bool
		set   func(http.Header)
		ok    bool
	}{
		{"signed", false, signed, true},
		{"signed, tokens allowed", true, signed, true},
		{"token", true, bearer, true},
		{"token, not allowed", false, bearer, false},
		{"wrong token next to a signature", true, func(h http.Header) { signed(h); h.Set("Authorization", "Bearer x") }, false},
		{"empty token", true, func(h http.Header) { h.Set("Authorization", "Bearer ") }, false},
		{"nothing", true, func(http.Header) {}, false},
	} {
		err := open(tc.token).Verify(request(tc.set))
		if tc.ok && err != nil || !tc.ok && !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	tr, err := generic.Open(ingest.Connection{Name: "git", Secrets: []string{secret}, Repositories: map[string]string{"kettle": "/srv/kettle"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{``, `{}`, `{"repository":"kettle","ref":"refs/heads/a","before":"x"}`, `{"refs":[{"ref":"refs/heads/a"}]}`, `[1]`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		d, err := tr.Translate(&ingest.Request{Header: http.Header{}, Body: payload})
		if err != nil {
			if !errors.Is(err, ingest.ErrNotJSON) && !errors.Is(err, ingest.ErrInvalidPayload) {
				t.Fatalf("an error without a sentinel: %v", err)
			}
			return
		}
		if d.Outcome != ingest.Pushed || len(d.Pushes) == 0 || len(d.Pushes) > ingest.MaxPushes || d.Repository.Name == "" {
			t.Fatalf("%+v", d)
		}
	})
}
