package doctor

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/disk"
)

// errUnknown is returned by probes that this system does not support.
var errUnknown = errors.New("not known on this system")

// Probes are the functions that examine the machine and the server. Tests replace them.
type Probes struct {
	Space     func(dir string) (disk.Space, error)
	Memory    func() (boot.Memory, error)
	OpenFiles func(process int) (uint64, error) // limit of a process; 0 is this process
	Holder    func(dir string) (disk.Holder, error)
	Owner     func(path string) (ours bool, user uint32, err error)
	Git       func(ctx context.Context) (string, error)
	Topics    func(ctx context.Context) ([]topics.Report, error)
	// LastRecord returns when the last record was appended to the log, or the zero time
	// if the log is empty.
	LastRecord func(ctx context.Context) (time.Time, error)
	// Client sends requests to the server. It signs in as the operator if the data
	// directory is readable.
	Client *client.Client
	// Version is the version of this program.
	Version string
	// Visibility returns the digest of the settings that decide what callers see, of a process
	// with a secret.
	Visibility func(c *config.Config, secret string) string
}

// NewProbes returns the probes of this machine. version is the version of this program;
// to sends requests to the server.
func NewProbes(
	log logdriver.Options, version string, to *client.Client, visibility func(c *config.Config, secret string) string,
) Probes {
	return Probes{
		Space: disk.SpaceOf, Memory: boot.MemoryOfMachine, OpenFiles: openFilesOf,
		Holder: disk.HolderOf, Owner: permissions.OwnerOf,
		Git:    gitVersion,
		Topics: func(ctx context.Context) ([]topics.Report, error) { return logdriver.DescribeTopics(ctx, log) },
		LastRecord: func(ctx context.Context) (time.Time, error) {
			return logdriver.LastRecordTime(ctx, log)
		},
		Client: to, Version: version, Visibility: visibility,
	}
}

// gitVersion runs git by name, as the mirrors do.
func gitVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "version").Output()
	return strings.TrimSpace(string(out)), err
}

// lockHeld returns the process that holds the data directory, if any.
func (x *Examination) lockHeld() (disk.Holder, error) { return x.Probes.Holder(x.Config.Data) }
