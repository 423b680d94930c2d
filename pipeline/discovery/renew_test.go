package discovery

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// slowHost lists the repositories of the world, a minute later.
type slowHost struct{ host }

func (h slowHost) List(ctx context.Context, l *Listing) error {
	err := h.host.List(ctx, l)
	<-time.After(time.Minute) // in the time of the bubble
	return err
}

// TestRequestDuringASync checks that a sync requested while another one runs is made
// afterwards: the running one may have missed the change behind the request.
func TestRequestDuringASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			open := o.Kinds[code.GitHub]
			o.Kinds = map[code.HostKind]Open{code.GitHub: func(c Connection, client *http.Client) (Lister, error) {
				l, err := open(c, client)
				return slowHost{l.(host)}, err
			}}
		})
		w.setHost("a", nil, found(1, "o/one"))
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(10 * time.Second)
			w.setHost("a", nil, found(1, "o/one"), found(2, "o/two"))
			w.syncer.RequestSync("a", false)
			w.wait(time.Minute, "registered host/o/one by a")
			w.wait(time.Minute+time.Second, "registered host/o/two by a")
			w.wait(30 * time.Minute) // once
			if started := w.state("a").StartedAt; time.Since(started) < 30*time.Minute {
				t.Errorf("the last sync began %v ago", time.Since(started))
			}
		})
	})
}

// TestCredentialsAreRenewed checks that a token replaced in its file is used at the next
// sync; a file that cannot be read is an issue and removes nothing.
func TestCredentialsAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, missing := "old", error(nil)
		w := newWorld(t, func(o *Options) {
			open := o.Kinds[code.GitHub]
			o.Kinds = map[code.HostKind]Open{code.GitHub: func(c Connection, client *http.Client) (Lister, error) {
				if c.Token != "new" {
					return failingLister{&hostapi.Error{Code: hostapi.Unauthorized}}, nil
				}
				return open(c, client)
			}}
			o.Renew = func(name string) (Connection, error) {
				return Connection{Name: name, Kind: code.GitHub, Token: token}, missing
			}
		})
		w.setHost("a", nil, found(1, "o/one"))
		w.setConnections(Connection{Name: "a", Token: "old"})
		w.run(func() {
			w.wait(time.Second)
			w.wantIssue("a", IssueCode(hostapi.Unauthorized))
			token = "new"
			w.syncer.RequestSync("a", false)
			w.wait(time.Second, "registered host/o/one by a")
			missing = errors.New("no such file")
			w.syncer.RequestSync("a", false)
			w.wait(time.Hour)
			w.wantIssue("a", InvalidSettings)
			missing = nil
			w.syncer.RequestSync("a", false)
			w.wait(time.Second)
			if issues := w.state("a").Issues; len(issues) > 0 {
				t.Errorf("issues %v", issues)
			}
		})
	})
}

type failingLister struct{ err error }

func (f failingLister) List(context.Context, *Listing) error { return f.err }
