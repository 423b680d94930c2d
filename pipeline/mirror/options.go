package mirror

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Defaults of Options.
const (
	DefaultFetchTimeout   = 30 * time.Minute
	DefaultReadTimeout    = 5 * time.Minute
	DefaultMaxMirrorBytes = 50 << 30
	DefaultIdleReaders    = 16
	DefaultMaxRefs        = 5000
)

// Bounds that are not options.
const (
	// maxRefs bounds the branches and tags of one repository that a listing may name.
	maxRefs = 200_000
	// maxRefsOutput is room for maxRefs lines of ordinary length.
	maxRefsOutput = 64 << 20
	// maxStderr is how much of a process's last words is kept.
	maxStderr = 8 << 10
	// maxSmallOutput bounds the output of commands that answer in a line or two.
	maxSmallOutput = 64 << 10
)

// Options configure Open. Only Dir is required.
type Options struct {
	// Dir holds the mirrors. It is created.
	Dir string
	// Git is the git program. Default: "git", looked up in PATH.
	Git string
	// Execute runs git commands instead of the program. Default: nil.
	Execute Executor
	// Policy decides on clone URLs.
	Policy Policy
	// Access returns how to reach the code host of a repository and to log in; nil means
	// directly, without credentials. It is called at every fetch.
	Access func(ctx context.Context, r code.Repository) (Access, error)
	// SSHCommand is what git runs for ssh, with arguments. Default: ssh in batch
	// mode, which trusts known host keys only.
	SSHCommand string
	// Env is added to git's environment, which is otherwise built from nothing.
	Env []string
	// FetchTimeout bounds one fetch, ReadTimeout one command that reads.
	FetchTimeout time.Duration
	ReadTimeout  time.Duration
	// MaxMirrorBytes bounds the size of a mirror on disk. A fetch that exceeds it
	// is stopped.
	MaxMirrorBytes int64
	// MaxRefs bounds the refs of a repository that are indexed: of more that are
	// selected, those with the newest commits are.
	MaxRefs int
	// CollectAfter is how old a commit that no ref leads to any more may get in a mirror
	// that is fetched. 0: there is no bound.
	CollectAfter time.Duration
	// IdleReaders bounds the reader processes that wait for their next use, over
	// all mirrors.
	IdleReaders int
	// MaxObjectBytes bounds what a reader of git allocates for one object. Default:
	// 512 MiB.
	MaxObjectBytes int64
	// PackThreads is on how many processors git indexes a pack that it fetches: each
	// takes a cache of deltas. Default: one per CPU.
	PackThreads int
	Logger      *slog.Logger
	Registerer  prometheus.Registerer
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, fmt.Errorf("open mirrors: want a directory")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("open mirrors: %w", err)
	}
	o.Dir = dir
	if o.MaxObjectBytes <= 0 {
		o.MaxObjectBytes = 512 << 20
	}
	if o.PackThreads <= 0 {
		o.PackThreads = runtime.GOMAXPROCS(0)
	}
	if o.Git == "" {
		o.Git = "git"
	}
	if o.SSHCommand == "" {
		o.SSHCommand = "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes -oClearAllForwardings=yes"
	}
	if o.FetchTimeout <= 0 {
		o.FetchTimeout = DefaultFetchTimeout
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = DefaultReadTimeout
	}
	if o.MaxMirrorBytes <= 0 {
		o.MaxMirrorBytes = DefaultMaxMirrorBytes
	}
	if o.MaxRefs <= 0 {
		o.MaxRefs = DefaultMaxRefs
	}
	if o.IdleReaders <= 0 {
		o.IdleReaders = DefaultIdleReaders
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	return o, nil
}
