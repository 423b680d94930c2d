// Package ingesttest checks translators against the contract of package ingest. It is for
// tests.
//
// It answers the question "does this translator keep the promises of ingest.Translator?".
package ingesttest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// RunScripts runs the scripts of testdata/translate: "translate [url=BASE]
// [header=(NAME,VALUE)]…" with the payload as input. open returns the translator of a
// connection with that base URL, or with the kind's default if it is empty.
func RunScripts(t *testing.T, open func(base string) (ingest.Translator, error)) {
	t.Helper()
	datadriven.Walk(t, "testdata/translate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			base := ""
			d.MaybeScanArgs(t, "url", &base)
			r := &ingest.Request{Header: http.Header{}, Query: url.Values{}, Body: []byte(d.Input)}
			for _, arg := range d.CmdArgs {
				if arg.Key == "header" {
					r.Header.Set(arg.Vals[0], strings.Join(arg.Vals[1:], ","))
				}
			}
			translator, err := open(base)
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			delivery, err := translator.Translate(r)
			CheckDelivery(t, delivery, err)
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			text, err := json.MarshalIndent(delivery, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			return string(text) + "\n"
		})
	})
}

// CheckDelivery fails the test if a translation breaks the contract: an error without a
// sentinel, too many pushes, an invalid ref, a repository without an ID.
func CheckDelivery(t *testing.T, d ingest.Delivery, err error) {
	t.Helper()
	if err != nil {
		if !errors.Is(err, ingest.ErrNotJSON) && !errors.Is(err, ingest.ErrInvalidPayload) {
			t.Fatalf("an error without a sentinel: %v", err)
		}
		return
	}
	switch d.Outcome {
	case ingest.Pushed:
		if len(d.Pushes) == 0 || len(d.Pushes) > ingest.MaxPushes || d.Repository.ID == 0 {
			t.Fatalf("%d pushes of repository %d", len(d.Pushes), d.Repository.ID)
		}
		for _, p := range d.Pushes {
			if err := p.Ref.Validate(); err != nil {
				t.Fatal(err)
			}
			if len(p.Pusher) > event.MaxPusherBytes {
				t.Fatalf("the name of the pusher has %d bytes, at most %d", len(p.Pusher), event.MaxPusherBytes)
			}
		}
	case ingest.Changed, ingest.Removed:
		if d.Repository.ID == 0 || d.Repository.Name == "" {
			t.Fatalf("%s without a repository: %+v", d.Outcome, d)
		}
	case ingest.Ignored, ingest.AccessChanged:
		if d.Reason == "" {
			t.Fatal("ignored without a reason")
		}
	default:
		t.Fatalf("outcome %q", d.Outcome)
	}
}

// Fuzz passes mutations of the seeds, which map event names to payloads, to a translator.
// Unless header is empty, the request carries the event name in it.
func Fuzz(f *testing.F, header string, translator ingest.Translator, seeds map[string]string) {
	for name, payload := range seeds {
		f.Add(name, []byte(payload))
	}
	f.Fuzz(func(t *testing.T, name string, payload []byte) {
		r := &ingest.Request{Header: http.Header{}, Query: url.Values{}, Body: payload}
		if header != "" {
			r.Header.Set(header, name)
		}
		d, err := translator.Translate(r)
		CheckDelivery(t, d, err)
		if err := translator.Verify(r); !errors.Is(err, ingest.ErrUnauthenticated) {
			t.Fatalf("an unsigned delivery: %v", err)
		}
	})
}

// SignHMAC returns the signature of a body that signature.HMAC accepts: the prefix and
// the HMAC in hexadecimal, as a code host sends it.
func SignHMAC(prefix string, body, secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(body) // a hash never fails
	return prefix + hex.EncodeToString(mac.Sum(nil))
}
