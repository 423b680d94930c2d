package doctor

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/query/client"
)

// errUnknown is returned by probes that this system does not have.
var errUnknown = errors.New("not known on this system")

// Probes look at the world. Tests replace them.
type Probes struct {
	Space     func(dir string) (boot.Space, error)
	Memory    func() (boot.Memory, error)
	OpenFiles func(process int) (uint64, error) // the limit of a process, 0 for this one
	Holder    func(dir string) (boot.Holder, error)
	Owner     func(path string) (ours bool, user uint32, err error)
	Git       func(ctx context.Context) (string, error)
	Topics    func(ctx context.Context) ([]topics.Report, error)
	// LastRecord returns when the log took its last record; zero if it is empty.
	LastRecord func(ctx context.Context) (time.Time, error)
	// Client sends requests to the server, as the operator if the data directory
	// can be read.
	Client *client.Client
	// Version is that of this program.
	Version string
}

// NewProbes returns the probes of this machine. Version is that of this program; to sends
// requests to the server.
func NewProbes(log logdriver.Options, version string, to *client.Client) Probes {
	return Probes{
		Space: boot.SpaceOf, Memory: boot.MemoryOfMachine, OpenFiles: openFilesOf,
		Holder: boot.HolderOf, Owner: permissions.OwnerOf,
		Git:    gitVersion,
		Topics: func(ctx context.Context) ([]topics.Report, error) { return logdriver.DescribeTopics(ctx, log) },
		LastRecord: func(ctx context.Context) (time.Time, error) {
			return logdriver.LastRecordTime(ctx, log)
		},
		Client: to, Version: version,
	}
}

// gitVersion starts git as the mirrors do, by its name.
func gitVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "version").Output()
	return strings.TrimSpace(string(out)), err
}

// lockHeld reports whether a process holds the data directory, and which.
func (x *Examination) lockHeld() (boot.Holder, error) { return x.Probes.Holder(x.Config.Data) }
