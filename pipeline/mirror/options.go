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
	// maxRefs bounds the branches and tags of one repository in a listing.
	maxRefs = 200_000
	// maxRefsOutput is enough for maxRefs lines of ordinary length.
	maxRefsOutput = 64 << 20
	// maxStderr bounds the end of a process's standard error that is kept.
	maxStderr = 8 << 10
	// maxSmallOutput bounds the output of commands that print a line or two.
	maxSmallOutput = 64 << 10
)

// Options configures Open. Only Dir is required.
type Options struct {
	// Dir is the directory for the mirrors. Open creates it.
	Dir string
	// Git is the git program. Default: "git", looked up in PATH.
	Git string
	// Execute runs git commands in place of the program; default nil.
	Execute Executor
	// Policy decides which clone URLs are allowed.
	Policy Policy
	// Access returns how to reach the code host of a repository, and the credentials; nil
	// means directly, without credentials. It is called at every fetch.
	Access func(ctx context.Context, r code.Repository) (Access, error)
	// SSHCommand is the command, with arguments, that git runs for ssh. Default: ssh in
	// batch mode, which trusts only known host keys.
	SSHCommand string
	// Env is added to git's environment, which is otherwise built from scratch.
	Env []string
	// FetchTimeout bounds one fetch; ReadTimeout bounds one command that reads.
	FetchTimeout time.Duration
	ReadTimeout  time.Duration
	// MaxMirrorBytes bounds the size of a mirror on disk. A fetch that exceeds it is
	// stopped.
	MaxMirrorBytes int64
	// MaxRefs bounds the refs of a repository that are indexed. If more are selected,
	// those with the newest commits are indexed.
	MaxRefs int
	// CollectAfter bounds how long a mirror that is fetched keeps a commit that no ref
	// reaches; 0 means no bound.
	CollectAfter time.Duration
	// IdleReaders bounds the idle reader processes over all mirrors.
	IdleReaders int
	// MaxObjectBytes bounds the memory that a git reader process allocates for one
	// object. Default: 512 MiB.
	MaxObjectBytes int64
	// PackThreads is the number of threads with which git indexes a fetched pack; each
	// uses a cache of deltas. Default: one per CPU.
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
