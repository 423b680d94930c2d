package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/proc"
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

// Launch starts a webserver over indexDir, without waiting until it is ready. re2 enables
// its opt-in engine for every file.
func (z *Zoekt) Launch(indexDir string, re2 bool) (*ZoektServer, error) {
	address, err := freeAddress()
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
	body := []byte(`{"Q":"repo:.","Opts":{"Field":0}}`)
	data, _, err := roundTrip(ctx, s.client, http.MethodPost, s.url+"/api/list", jsonHeader(), body)
	if err != nil {
		return 0, err
	}
	var reply struct {
		List struct{ Repos []json.RawMessage }
	}
	err = json.Unmarshal(data, &reply)
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

// Search implements Searcher.
func (s *ZoektServer) Search(ctx context.Context, q Request) (Answer, error) {
	body, err := json.Marshal(struct {
		Q    string
		Opts zoektOptions
	}{q.Text, optionsFor(q.Limit)})
	if err != nil {
		return Answer{}, err
	}
	data, elapsed, err := roundTrip(ctx, s.client, http.MethodPost, s.url+"/api/search", jsonHeader(), body)
	if err != nil {
		return Answer{}, err
	}
	var reply struct {
		Result struct{ MatchCount, FileCount, FilesLoaded int }
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return Answer{}, fmt.Errorf("zoekt: decode answer to %s: %w", q.Text, err)
	}
	answer := Answer{Elapsed: elapsed, Matches: reply.Result.MatchCount, Files: reply.Result.FileCount, FilesRead: reply.Result.FilesLoaded}
	if q.List {
		answer.List, err = zoektList(data)
	}
	return answer, err
}

func zoektList(data []byte) (uint64, error) {
	var reply struct {
		Result struct {
			Files []struct {
				Repository, FileName string
				ChunkMatches         []struct {
					Ranges []struct{ Start struct{ ByteOffset int } }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return 0, fmt.Errorf("zoekt: decode list: %w", err)
	}
	var places []listedFile
	for _, f := range reply.Result.Files {
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
