package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestTranslate runs the scripts of testdata: translate event=NAME [host=HOST]
// with the payload as input.
func TestTranslate(t *testing.T) {
	datadriven.Walk(t, "testdata/translate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			host, name := "github.com", ""
			d.MaybeScanArgs(t, "host", &host)
			d.MaybeScanArgs(t, "event", &name)
			delivery, err := github.Translate(ingest.Host{Name: host, Address: host}, name, []byte(d.Input))
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
	for _, c := range []ingest.Connection{
		{Name: "a"},
		{Name: "a", Secrets: []string{""}},
		{Name: "a", Secrets: []string{"s"}, URL: "github.example"},
	} {
		if _, err := github.Open(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestVerifyAndForm(t *testing.T) {
	tr, err := github.Open(ingest.Connection{Name: "a", Secrets: []string{"new", "old"}})
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("payload=" + url.QueryEscape(`{"zen":"keep it simple"}`))
	r := &ingest.Request{Header: http.Header{}, Body: body}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	r.Header.Set("X-GitHub-Event", "ping")
	r.Header.Set("X-GitHub-Delivery", "d-1")
	if err := tr.Verify(r); !errors.Is(err, ingest.ErrUnauthenticated) || !errors.Is(err, signature.ErrMissing) {
		t.Errorf("unsigned: %v", err)
	}
	r.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", body, []byte("old")))
	if err := tr.Verify(r); err != nil {
		t.Errorf("signed with the old secret: %v", err)
	}
	d, err := tr.Translate(r)
	if err != nil || d.Outcome != ingest.Ignored || d.ID != "d-1" {
		t.Errorf("translate: %+v, %v", d, err)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add("push", []byte(`{"ref":"refs/heads/main","before":"`+strings.Repeat("0", 40)+`","after":"`+strings.Repeat("a", 40)+`","repository":{"id":1,"full_name":"o/n","clone_url":"https://github.com/o/n.git"}}`))
	f.Add("repository", []byte(`{"action":"renamed","repository":{"id":1,"full_name":"o/n","clone_url":"https://github.com/o/n.git"}}`))
	f.Add("ping", []byte(`{}`))
	f.Fuzz(func(t *testing.T, name string, payload []byte) {
		d, err := github.Translate(ingest.Host{Name: "github.com", Address: "github.com"}, name, payload)
		if err != nil {
			if !errors.Is(err, ingest.ErrNotJSON) && !errors.Is(err, ingest.ErrInvalidPayload) {
				t.Fatalf("an error without a sentinel: %v", err)
			}
			return
		}
		checkDelivery(t, d)
	})
}

func checkDelivery(t *testing.T, d ingest.Delivery) {
	switch d.Outcome {
	case ingest.Pushed:
		if len(d.Pushes) != 1 || d.Repository.ID == 0 {
			t.Fatalf("%+v", d)
		}
		if err := d.Pushes[0].Ref.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(d.Pushes[0].Pusher) > event.MaxPusherBytes {
			t.Fatal("the pusher is not cut")
		}
	case ingest.Changed, ingest.Removed:
		if !strings.HasPrefix(d.Repository.Name, "github.com/") {
			t.Fatalf("%+v", d)
		}
	case ingest.Ignored:
		if d.Reason == "" {
			t.Fatal("ignored without a reason")
		}
	default:
		t.Fatalf("outcome %q", d.Outcome)
	}
}
