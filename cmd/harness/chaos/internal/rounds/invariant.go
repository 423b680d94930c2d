package rounds

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/fleet"
	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/host"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

// errMismatch means that the search results differ from the pushed state.
var errMismatch = errors.New("what is found is not what was pushed")

// awaitModel waits until each query process finds exactly the files of the model. An answer
// that has waited for the last pushes and calls itself exhaustive must not differ from it.
//
// It asks for each repository twice, because nothing may have changed since it was correct.
func (r *chaosRun) awaitModel(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hangDeadline)
	defer cancel()
	for _, s := range r.senders {
		if err := r.awaitRepository(ctx, s, s.MinPosition() != ""); err != nil {
			return err
		}
	}
	for _, s := range r.senders {
		if err := r.awaitRepository(ctx, s, true); err != nil {
			return fmt.Errorf("right before, and now: %w", err)
		}
	}
	for _, s := range r.senders {
		s.ForgetPositions()
	}
	return nil
}

// awaitRepository waits until each query process finds the files of one repository. If it is
// settled, an answer that differs and calls itself exhaustive is an error at once.
func (r *chaosRun) awaitRepository(ctx context.Context, s *host.Sender, settled bool) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var last error // an error of a search that the deadline cut off is meaningless
	for {
		if err := r.restartFull(ctx); err != nil {
			return err
		}
		err := r.checkRepository(ctx, s)
		if err == nil {
			return nil
		}
		if errors.Is(err, errMismatch) && settled {
			return fmt.Errorf("an exhaustive answer after the last push: %w", err)
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w after %v at most: %w", s.Repository.Name, ctx.Err(), hangDeadline, last)
		case <-tick.C:
		}
	}
}

// checkRepository compares one repository with its model, each branch and all together, in
// every query process.
func (r *chaosRun) checkRepository(ctx context.Context, s *host.Sender) error {
	for _, m := range r.fleet.Queries() {
		if err := r.checkAnswers(ctx, m, s); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

func (r *chaosRun) checkAnswers(ctx context.Context, m *fleet.Member, s *host.Sender) error {
	repository, want := s.Repository, s.Repository.Want()
	everything := map[string]bool{}
	for _, ref := range slices.Sorted(maps.Keys(want)) {
		got, err := r.findTokens(ctx, m, s, ref)
		if err != nil {
			return err
		}
		for path, token := range want[ref] {
			everything[token] = true
			if !slices.Equal(got[path], []string{token}) {
				return fmt.Errorf("%w: %s %s %s: want %s, found %v", errMismatch, repository.Name, ref, path, token, got[path])
			}
			delete(got, path)
		}
		if len(got) > 0 {
			return fmt.Errorf("%w: %s %s: found what is not there: %v", errMismatch, repository.Name, ref, got)
		}
	}
	got, err := r.findTokens(ctx, m, s, "*")
	if err != nil {
		return err
	}
	for path, tokens := range got {
		for _, token := range tokens {
			if !everything[token] {
				return fmt.Errorf("%w: %s: %s in %s is in no branch any more", errMismatch, repository.Name, token, path)
			}
		}
	}
	return nil
}

var tokenPattern = regexp.MustCompile(`tok\d+x\d+z`)

// findTokens returns the tokens of a repository that a search finds, by path. The search
// waits until the last pushes are searchable.
func (r *chaosRun) findTokens(ctx context.Context, m *fleet.Member, s *host.Sender, rev string) (map[string][]string, error) {
	body, err := json.Marshal(map[string]any{
		"query": fmt.Sprintf("repo:^%s$ rev:%s %s", s.Repository.Name, rev, s.Repository.TokenPattern()), "matches": 10_000, "isRegexEnabled": true,
		"minPosition": s.MinPosition(),
	})
	if err != nil {
		return nil, err
	}
	data, err := r.sendRequest(ctx, m, http.MethodPost, "/api/search", body)
	if err != nil {
		return nil, err
	}
	return tokensOf(data)
}

// sendRequest sends a request to a query process and returns the response, whose status
// must be 200.
func (r *chaosRun) sendRequest(ctx context.Context, m *fleet.Member, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, m.URL()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := operator.Client(m.Data).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %.500s", method, path, response.Status, data)
	}
	return data, nil
}

func tokensOf(data []byte) (map[string][]string, error) {
	var answer struct {
		Incomplete string `json:"incompleteReason"`
		Files      []struct {
			FileName struct{ Text string } `json:"fileName"`
			Chunks   []struct{ Content string }
		} `json:"files"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if answer.Incomplete != "" {
		return nil, fmt.Errorf("search: incomplete: %s", answer.Incomplete)
	}
	found := map[string][]string{}
	for _, f := range answer.Files {
		for _, c := range f.Chunks {
			text := c.Content
			if !strings.Contains(text, "token") {
				if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
					text = string(decoded)
				}
			}
			found[f.FileName.Text] = append(found[f.FileName.Text], tokenPattern.FindAllString(text, -1)...)
		}
	}
	return found, nil
}
