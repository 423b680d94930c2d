package backbone

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/generic"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
)

// hookReceiver is a webhook receiver without the rest of a server: its events stay in the
// log.
type hookReceiver struct {
	receiver http.Handler
	secret   []byte
}

// errRefused means that a delivery was not accepted.
var errRefused = errors.New("webhook was not accepted")

const hookPath = "/webhooks/genericGitHost/backlog"

func openHooks(log eventlog.Log) (*hookReceiver, error) {
	h := &hookReceiver{secret: []byte("the secret of a backlog, which no other sender has")}
	receiver, err := webhook.New(webhook.Options{
		Kinds: map[code.HostKind]ingest.Open{code.GenericGitHost: generic.Open},
		Connections: []ingest.Connection{{
			Name: "backlog", Kind: code.GenericGitHost, Secrets: []string{"whsec_" + base64.StdEncoding.EncodeToString(h.secret)},
		}},
		Appender: log,
	})
	h.receiver = receiver
	return h, err
}

// deliverPush sends one signed delivery to the receiver.
func (h *hookReceiver) deliverPush(ctx context.Context, repository, before, after string) error {
	body, err := json.Marshal(map[string]string{"repository": repository, "ref": "refs/heads/" + corpus.Branch, "before": before, "after": after})
	if err != nil {
		return err
	}
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, hookPath, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	signature.SetStandard(request.Header, "msg_"+after, time.Now(), body, h.secret)
	answer := httptest.NewRecorder()
	h.receiver.ServeHTTP(answer, request)
	if answer.Code != http.StatusAccepted {
		return fmt.Errorf("%w: %d %.300s", errRefused, answer.Code, answer.Body)
	}
	return nil
}

// deliverAll delivers the pushes of all repositories, and moves their branches to the
// last commit. It delivers the pushes of one repository in order and those of different
// repositories concurrently.
func (h *hookReceiver) deliverAll(ctx context.Context, repositories []*smallRepository, pushesOfEach int) (time.Duration, error) {
	began := time.Now()
	failures := make([]error, len(repositories))
	var all sync.WaitGroup
	for i, s := range repositories {
		all.Go(func() {
			for push := 1; push <= pushesOfEach && failures[i] == nil; push++ {
				failures[i] = h.deliverPush(ctx, s.dir, s.commits[push-1], s.commits[push])
			}
			failures[i] = errors.Join(failures[i], corpus.Move(s.dir, s.commits[pushesOfEach]))
		})
	}
	all.Wait()
	return time.Since(began), errors.Join(failures...)
}
