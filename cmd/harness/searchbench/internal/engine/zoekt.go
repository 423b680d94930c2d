package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// Zoekt is a folder with zoekt's binaries: zoekt-git-index and zoekt-webserver.
type Zoekt struct {
	Bin string
	// Ctags is the path of universal-ctags.
	Ctags string
}

// ErrNoZoekt means that there is nothing to compare with.
var ErrNoZoekt = errors.New("zoekt is not available")

// OpenZoekt checks that the binaries and universal-ctags exist.
func OpenZoekt(bin string) (*Zoekt, error) {
	if bin == "" {
		return nil, fmt.Errorf("%w: no folder of its binaries was given (ZOEKT_BIN)", ErrNoZoekt)
	}
	for _, name := range []string{"zoekt-git-index", "zoekt-webserver"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrNoZoekt, err)
		}
	}
	ctags, err := exec.LookPath("ctags")
	if err != nil {
		return nil, fmt.Errorf("%w: it needs universal-ctags for symbols (Debian package universal-ctags): %v", ErrNoZoekt, err)
	}
	return &Zoekt{Bin: bin, Ctags: ctags}, nil
}

// Index indexes bare repositories into indexDir with symbols. delta selects its opt-in
// delta mode.
//
// Submodules are turned off because delta mode rejects them, and an index and its deltas
// must be created with the same options.
func (z *Zoekt) Index(ctx context.Context, indexDir string, delta bool, repositories ...string) (proc.Usage, error) {
	args := []string{"-index", indexDir, "-require_ctags", "-submodules=false"}
	if delta {
		args = append(args, "-delta")
	}
	return z.runIndex(ctx, append(args, repositories...))
}

// IndexBranches indexes the branches of bare repositories that match globs, at most 64 of
// each.
func (z *Zoekt) IndexBranches(ctx context.Context, indexDir string, globs []string, repositories ...string) (proc.Usage, error) {
	args := []string{"-index", indexDir, "-require_ctags", "-submodules=false", "-branches", strings.Join(globs, ",")}
	return z.runIndex(ctx, append(args, repositories...))
}

// Profile is Index with a CPU profile of the program, without ctags and git, written to a
// file.
func (z *Zoekt) Profile(ctx context.Context, indexDir, profile string, repositories ...string) (proc.Usage, error) {
	args := []string{"-index", indexDir, "-require_ctags", "-submodules=false", "-cpu_profile", profile}
	return z.runIndex(ctx, append(args, repositories...))
}

func (z *Zoekt) runIndex(ctx context.Context, args []string) (proc.Usage, error) {
	return proc.Run(ctx, proc.Spec{Path: filepath.Join(z.Bin, "zoekt-git-index"), Args: args, Env: []string{"CTAGS_COMMAND=" + z.Ctags}})
}

// ZoektServer is a running zoekt-webserver.
type ZoektServer struct {
	*proc.Process
	url    string
	client *http.Client
}

var _ Searcher = (*ZoektServer)(nil)

// Serve is Launch, and then waits until the server knows the given number of
// repositories.
func (z *Zoekt) Serve(ctx context.Context, indexDir string, repositories int, re2 bool) (*ZoektServer, error) {
	s, err := z.Launch(indexDir, re2)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	err = waitReady(ctx, s.Done(), func(ctx context.Context) bool {
		n, err := s.countRepositories(ctx)
		return err == nil && n >= repositories
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start zoekt-webserver: %w: %s", err, s.Output()), s.Stop())
	}
	return s, nil
}

// ServeIndexed starts a server on a new index of bare repositories.
func (z *Zoekt) ServeIndexed(ctx context.Context, indexDir string, repositories map[string]string) (*ZoektServer, error) {
	if err := os.RemoveAll(indexDir); err != nil {
		return nil, err
	}
	if _, err := z.Index(ctx, indexDir, false, slices.Sorted(maps.Values(repositories))...); err != nil {
		return nil, err
	}
	return z.Serve(ctx, indexDir, len(repositories), false)
}

// Launch starts a webserver over indexDir, without waiting until it is ready. re2 enables
// its opt-in engine for every file.
func (z *Zoekt) Launch(indexDir string, re2 bool) (*ZoektServer, error) {
	address, err := loopback.FreeAddress()
	if err != nil {
		return nil, err
	}
	env := []string{"ZOEKT_RE2_THRESHOLD_BYTES=-1"}
	if re2 {
		env = []string{"ZOEKT_RE2_THRESHOLD_BYTES=1"}
	}
	p, err := proc.Start(proc.Spec{
		Path: filepath.Join(z.Bin, "zoekt-webserver"), Args: []string{"-rpc", "-html=false", "-listen", address, "-index", indexDir}, Env: env,
	})
	if err != nil {
		return nil, err
	}
	return &ZoektServer{Process: p, url: "http://" + address, client: newHTTPClient()}, nil
}

func (s *ZoektServer) countRepositories(ctx context.Context) (int, error) {
	var reply struct {
		List struct{ Repos []json.RawMessage }
	}
	_, err := fetchJSON(ctx, s.client, http.MethodPost, s.url+"/api/list", map[string]any{"Q": "repo:.", "Opts": map[string]any{"Field": 0}}, &reply)
	return len(reply.List.Repos), err
}

// zoektOptions contains the relevant fields of zoekt's SearchOptions.
type zoektOptions struct {
	ChunkMatches         bool
	NumContextLines      int
	ShardMaxMatchCount   int
	TotalMaxMatchCount   int
	MaxMatchDisplayCount int
	MaxDocDisplayCount   int
	MaxWallTime          time.Duration
}

// noShardCap disables the cap: zoekt replaces 0 with its default and ignores negative
// numbers.
const noShardCap = -1

// optionsFor returns options that stop the search one match after the limit, like a
// service that needs to know whether there are more. Without a limit, everything is
// counted and one match is shown. As in products built on zoekt, it finds the best files
// of every shard that it has begun, instead of the first ones.
func optionsFor(limit int) zoektOptions {
	opts := zoektOptions{ChunkMatches: true, MaxWallTime: queryTimeout}
	if limit == 0 {
		opts.ShardMaxMatchCount, opts.TotalMaxMatchCount = math.MaxInt32, math.MaxInt32
		opts.MaxMatchDisplayCount, opts.MaxDocDisplayCount = 1, 1
		return opts
	}
	opts.ShardMaxMatchCount, opts.TotalMaxMatchCount = noShardCap, limit+1
	opts.MaxMatchDisplayCount, opts.MaxDocDisplayCount = limit, limit
	return opts
}

// zoektReply holds the files of an answer.
type zoektReply struct {
	Result struct {
		Files []struct {
			FileName, Repository string
			LineMatches          []struct {
				Line       []byte
				LineNumber int
			}
		}
	}
}

func (s *ZoektServer) postSearch(ctx context.Context, query string, opts, reply any) error {
	_, err := fetchJSON(ctx, s.client, http.MethodPost, s.url+"/api/search", map[string]any{"Q": query, "Opts": opts}, reply)
	return err
}

// Search implements Searcher.
func (s *ZoektServer) Search(ctx context.Context, q Request) (Answer, error) {
	var reply struct {
		Result struct {
			MatchCount, FileCount, FilesLoaded int
			Files                              json.RawMessage
		}
	}
	reply.Result.Files = json.RawMessage("[]") // unless the answer has a list
	elapsed, err := fetchJSON(ctx, s.client, http.MethodPost, s.url+"/api/search", map[string]any{"Q": q.Text, "Opts": optionsFor(q.Limit)}, &reply)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Elapsed: elapsed, Matches: reply.Result.MatchCount, Files: reply.Result.FileCount, FilesRead: reply.Result.FilesLoaded}
	if q.List {
		answer.List, err = zoektList(reply.Result.Files)
	}
	return answer, err
}

// zoektList returns a hash of the listed files, as JSON.
func zoektList(data []byte) (uint64, error) {
	var files []struct {
		Repository, FileName string
		ChunkMatches         []struct {
			Ranges []struct{ Start struct{ ByteOffset int } }
		}
	}
	if err := json.Unmarshal(data, &files); err != nil {
		return 0, fmt.Errorf("zoekt: decode list: %w", err)
	}
	var places []listedFile
	for _, f := range files {
		place := listedFile{repository: f.Repository, path: f.FileName}
		for _, c := range f.ChunkMatches {
			for _, r := range c.Ranges {
				place.offsets = append(place.offsets, r.Start.ByteOffset)
			}
		}
		places = append(places, place)
	}
	return hashList(places), nil
}

// rankedFiles is the number of files that zoekt shows. zoekt still searches everything,
// because it ranks what it has seen.
const rankedFiles = 100

// Ranked returns the files of an answer in order, by zoekt's default score or by its BM25
// score.
func (s *ZoektServer) Ranked(ctx context.Context, text string, bm25 bool) (places []Place, err error) {
	var reply zoektReply
	err = s.postSearch(ctx, text, map[string]any{"ChunkMatches": true, "MaxDocDisplayCount": rankedFiles, "MaxWallTime": queryTimeout, "UseBM25Scoring": bm25}, &reply)
	for _, f := range reply.Result.Files {
		places = append(places, Place{Repository: f.Repository, Path: f.FileName})
	}
	return places, err
}

// ConnectZoekt returns a running webserver that someone else started.
func ConnectZoekt(address string) *ZoektServer {
	return &ZoektServer{url: strings.TrimSuffix(address, "/"), client: newHTTPClient()}
}
