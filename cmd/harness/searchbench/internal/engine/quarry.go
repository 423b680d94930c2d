package engine

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/ingest/signature"
)

// Quarry is the quarry binary.
type Quarry struct {
	Path string
	// Settings are passed to quarry serve as --set KEY=VALUE, after those of this
	// package.
	Settings []string
}

// ErrNoQuarry means that there is no binary to measure.
var ErrNoQuarry = errors.New("quarry is not available")

// OpenQuarry checks that the binary exists.
func OpenQuarry(path string, settings []string) (*Quarry, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: no path of its binary was given", ErrNoQuarry)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(absolute); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoQuarry, err)
	}
	return &Quarry{Path: absolute, Settings: settings}, nil
}

// QuarryServer is a running quarry serve.
type QuarryServer struct {
	*proc.Process
	quarry *Quarry
	url    string
	// metricsURL is the address of its metrics.
	metricsURL string
	data       string // its data directory
	secret     []byte
	client     *http.Client
}

var _ Searcher = (*QuarryServer)(nil)

const (
	// connection is the simulated code host. webhookID must differ for every delivery.
	connection = "bench"
	// countEverything stands for no limit; the server is configured to allow it.
	countEverything = 1_000_000_000
	// serverStart bounds the start of a server on existing data.
	serverStart = 2 * time.Minute
)

// Serve is Launch, and then waits until the server is ready.
func (q *Quarry) Serve(ctx context.Context, data string, roots []string) (*QuarryServer, error) {
	s, err := q.Launch(data, roots)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serverStart)
	defer cancel()
	err = waitReady(ctx, s.Done(), func(ctx context.Context) bool {
		_, _, err := roundTrip(ctx, s.client, http.MethodGet, s.url+"/readyz", http.Header{}, nil)
		return err == nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start quarry serve: %w: %s", err, s.Output()), s.Stop())
	}
	return s, nil
}

// ServeIndexed starts a server on a new data directory, and indexes repositories (name →
// bare repository below one of the roots).
func (q *Quarry) ServeIndexed(ctx context.Context, data string, roots []string, repositories map[string]string) (*QuarryServer, error) {
	if err := errors.Join(os.RemoveAll(data), os.MkdirAll(filepath.Dir(data), 0o755)); err != nil {
		return nil, err
	}
	s, err := q.Serve(ctx, data, roots)
	if err != nil {
		return nil, err
	}
	if _, err := s.Index(ctx, repositories); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Launch starts a server with all roles on a data directory, without waiting until it is
// ready. The server may read repositories below roots. Its settings differ from the
// defaults only in the connection, the roots and the limits on matches and time, which
// would cut off an exhaustive count.
func (q *Quarry) Launch(data string, roots []string) (*QuarryServer, error) {
	address, err := loopback.FreeAddress()
	if err != nil {
		return nil, err
	}
	metrics, err := loopback.FreeAddress()
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	config := data + ".yaml"
	if err := writeQuarryConfig(config, roots, secret); err != nil {
		return nil, err
	}
	args := []string{"serve", "--config", config, "--data", data, "--listen", address, "--metrics-listen", metrics}
	for _, s := range q.Settings {
		args = append(args, "--set", s)
	}
	p, err := proc.Start(proc.Spec{Path: q.Path, Args: args})
	if err != nil {
		return nil, err
	}
	return &QuarryServer{Process: p, quarry: q, url: "http://" + address, metricsURL: "http://" + metrics, data: data, secret: secret, client: operatorOf(data)}, nil
}

// ConnectQuarry returns a running server that someone else started. It can only be
// searched.
func ConnectQuarry(address string) *QuarryServer {
	return &QuarryServer{url: strings.TrimSuffix(address, "/"), client: operatorOf(os.Getenv("QUARRY_DATA"))}
}

// operatorOf returns a client that authenticates as the operator of a data directory,
// which has no rate limit.
func operatorOf(data string) *http.Client {
	c := newHTTPClient()
	c.Transport = &operator.Transport{Dir: data, Next: c.Transport}
	return c
}

// Flags returns the flags with which a command of the binary uses the server as its
// operator.
func (s *QuarryServer) Flags() []string { return []string{"--server", s.url, "--data", s.data} }

// writeQuarryConfig writes the configuration as JSON, which is valid YAML.
func writeQuarryConfig(path string, roots []string, secret []byte) error {
	config := map[string]any{
		"git":     map[string]any{"allowedRoots": roots},
		"query":   map[string]any{"maxMatches": countEverything, "timeout": queryTimeout.String()},
		"logging": map[string]any{"level": "warn"},
		"connections": []any{map[string]any{
			"name": connection, "kind": "genericGitHost", "secrets": []string{"whsec_" + base64.StdEncoding.EncodeToString(secret)},
		}},
	}
	encoded, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}

// Index registers repositories (name → bare repository) and waits until all are
// searchable. It runs one quarry index for each, because a name belongs to one
// repository; they run concurrently, because they only wait. flags are additional flags
// of quarry index.
func (s *QuarryServer) Index(ctx context.Context, repositories map[string]string, flags ...string) (time.Duration, error) {
	start := time.Now()
	failures := make(chan error, len(repositories))
	for name, path := range repositories {
		go func() {
			_, err := proc.Run(ctx, proc.Spec{
				Path: s.quarry.Path, Args: slices.Concat([]string{"index", path, "--name", name}, flags, s.Flags()), Unmetered: true,
			})
			if err != nil {
				err = fmt.Errorf("quarry index %s: %w", name, err)
			}
			failures <- err
		}()
	}
	var all []error
	for range repositories {
		all = append(all, <-failures)
	}
	return time.Since(start), errors.Join(all...)
}

type quarrySearch struct {
	Query           string `json:"query"`
	Matches         int    `json:"matches"`
	ContextLines    int    `json:"contextLines"`
	Regex           bool   `json:"isRegexEnabled"`
	CaseSensitivity bool   `json:"isCaseSensitivityEnabled"`
	Display         int    `json:"display,omitempty"` // number of matches returned; all are counted
	Explain         bool   `json:"explain,omitempty"`
	Advice          *bool  `json:"advice,omitempty"`
}

// quarryFile is a file of an answer.
type quarryFile struct {
	FileName   struct{ Text string } `json:"fileName"`
	Repository string                `json:"repository"`
	BestLines  []int                 `json:"bestLines"`
	Chunks     []struct {
		Content      string `json:"content"`
		ContentStart struct {
			LineNumber int `json:"lineNumber"`
		} `json:"contentStart"`
		MatchRanges []struct {
			Start struct {
				ByteOffset int `json:"byteOffset"`
			} `json:"start"`
		} `json:"matchRanges"`
	} `json:"chunks"`
}

func (f *quarryFile) place() Place { return Place{Repository: f.Repository, Path: f.FileName.Text} }

// quarryStats are the counts of an answer.
type quarryStats struct {
	Actual int `json:"actualMatchCount"`
	Total  int `json:"totalMatchCount"`
	Files  int `json:"fileCount"`
	Read   int `json:"filesLoaded"`
}

// requestFor returns the request for a query. Without a limit, every match is counted.
func requestFor(q Request) quarrySearch {
	request := quarrySearch{Query: q.Text, Matches: q.Limit, Regex: true}
	if q.Limit == 0 {
		request.Matches, request.Display = countEverything, 1
	}
	if q.Brief {
		request.Advice = new(bool)
	}
	return request
}

// AnswersBriefly reports whether the server knows requests without advice. Builds before
// 2026-11-29 refuse them.
func (s *QuarryServer) AnswersBriefly(ctx context.Context) bool {
	_, err := s.Search(ctx, Request{Text: "brief", Limit: 1, Brief: true})
	return err == nil
}

func (s *QuarryServer) postSearch(ctx context.Context, request quarrySearch, reply any) (time.Duration, error) {
	return fetchJSON(ctx, s.client, http.MethodPost, s.url+"/api/search", request, reply)
}

// Search implements Searcher.
func (s *QuarryServer) Search(ctx context.Context, q Request) (Answer, error) {
	if q.Repositories {
		var found []json.RawMessage
		elapsed, err := s.findRepositories(ctx, q.Text, &found)
		return Answer{Elapsed: elapsed, Matches: len(found), Files: len(found)}, err
	}
	var reply struct {
		Stats quarryStats     `json:"stats"`
		Files json.RawMessage `json:"files"`
	}
	reply.Files = json.RawMessage("[]") // unless the answer has a list
	elapsed, err := s.postSearch(ctx, requestFor(q), &reply)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Elapsed: elapsed, Matches: max(reply.Stats.Actual, reply.Stats.Total), Files: reply.Stats.Files, FilesRead: reply.Stats.Read}
	if q.List {
		answer.List, err = quarryList(reply.Files)
	}
	return answer, err
}

// quarryList returns a hash of the listed files, as JSON.
func quarryList(data []byte) (uint64, error) {
	var files []quarryFile
	if err := json.Unmarshal(data, &files); err != nil {
		return 0, fmt.Errorf("quarry: decode list: %w", err)
	}
	var places []listedFile
	for _, f := range files {
		place := listedFile{repository: f.Repository, path: f.FileName.Text}
		for _, c := range f.Chunks {
			for _, r := range c.MatchRanges {
				place.offsets = append(place.offsets, r.Start.ByteOffset)
			}
		}
		places = append(places, place)
	}
	return hashList(places), nil
}

// Places returns the number of matches in every matching file, as listed, and the totals
// of the statistics.
func (s *QuarryServer) Places(ctx context.Context, text string) (map[Place]int, Answer, error) {
	var reply struct {
		Stats      quarryStats  `json:"stats"`
		Incomplete string       `json:"incompleteReason"`
		Files      []quarryFile `json:"files"`
	}
	elapsed, err := s.postSearch(ctx, quarrySearch{Query: text, Matches: countEverything, Regex: true}, &reply)
	if err != nil {
		return nil, Answer{}, err
	}
	places := make(map[Place]int, len(reply.Files))
	for _, f := range reply.Files {
		for _, c := range f.Chunks {
			places[f.place()] += len(c.MatchRanges)
		}
	}
	return places, Answer{Elapsed: elapsed, Matches: reply.Stats.Actual, Files: reply.Stats.Files, Incomplete: reply.Incomplete}, nil
}

// Ranked returns the files of an answer in order. The search looks for the given number
// of matches and shows display of them.
func (s *QuarryServer) Ranked(ctx context.Context, text string, matches, display int) (places []Place, err error) {
	var reply struct {
		Files []quarryFile `json:"files"`
	}
	_, err = s.postSearch(ctx, quarrySearch{Query: text, Matches: matches, Display: display}, &reply)
	for _, f := range reply.Files {
		places = append(places, f.place())
	}
	return places, err
}

// skippedPage is the page size for lists of skipped files.
const skippedPage = 100

// Skipped returns the files of a repository's default branch that are not searchable,
// with the reason, by path.
func (s *QuarryServer) Skipped(ctx context.Context, repository string) (map[string]string, error) {
	id, err := s.repositoryID(ctx, repository)
	if err != nil {
		return nil, err
	}
	skipped := make(map[string]string)
	for page := 1; ; page++ {
		var files []struct{ Path, Reason, Symbols string }
		if _, err := fetchJSON(ctx, s.client, http.MethodGet, fmt.Sprintf("%s/api/repos/%d/skipped?perPage=%d&page=%d", s.url, id, skippedPage, page), nil, &files); err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.Symbols == "" { // files with partial symbols are searchable
				skipped[f.Path] = f.Reason
			}
		}
		if len(files) < skippedPage {
			return skipped, nil
		}
	}
}

func (s *QuarryServer) repositoryID(ctx context.Context, name string) (uint64, error) {
	var repositories []struct {
		ID   uint64 `json:"repoId"`
		Name string `json:"repoName"`
	}
	if _, err := s.findRepositories(ctx, name, &repositories); err != nil {
		return 0, err
	}
	for _, r := range repositories {
		if r.Name == name {
			return r.ID, nil
		}
	}
	return 0, fmt.Errorf("quarry has no repository %s", name)
}

// findRepositories decodes the repositories whose names contain a word.
func (s *QuarryServer) findRepositories(ctx context.Context, word string, reply any) (time.Duration, error) {
	return fetchJSON(ctx, s.client, http.MethodGet, s.url+"/api/repos?perPage=100&query="+url.QueryEscape(word), nil, reply)
}

// Push announces, as a git host would, that a ref of a registered repository moved. It
// returns when the delivery was accepted.
func (s *QuarryServer) Push(ctx context.Context, repository, ref, before, after string) error {
	body, err := json.Marshal(map[string]string{"repository": repository, "ref": ref, "before": before, "after": after})
	if err != nil {
		return err
	}
	header := jsonHeader()
	signature.SetStandard(header, "msg_"+after, time.Now(), body, s.secret)
	_, _, err = roundTrip(ctx, s.client, http.MethodPost, s.url+"/webhooks/genericGitHost/"+connection, header, body)
	return err
}
