package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/segmentdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/pipeline/backup"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/disk"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

const (
	// backupTries bounds the attempts of a backup. A backup starts over if files are
	// removed while it reads them.
	backupTries = 3
	// renewEvery is the interval at which a backup renews its lease on the server,
	// several times within the minute after which the lease expires.
	renewEvery = 10 * time.Second
	// endTimeout bounds the request that ends a backup. It applies even after the command
	// was interrupted.
	endTimeout = 5 * time.Second
)

type backupCommand struct {
	configFlags
	Directory string `arg:"" name:"dir" complete:"path" help:"Backup directory. It is created if it does not exist."`
	Keep      int    `placeholder:"N" help:"Keep the newest N generations and remove older ones. By default all are kept."`
	Offline   bool   `help:"Read the data directory without a server. The server must be stopped."`
	JSON      bool   `help:"Print the result as JSON."`
	Server    string `group:"connection" placeholder:"URL" env:"QUARRY_SERVER" help:"URL of the server that runs on the data directory. By default it is derived from the configuration."`
}

// Help implements kong.HelpProvider.
func (*backupCommand) Help() string {
	return `Copies the event log, the segments and the secret of a server to a directory, while the server runs. Each run adds a generation; files that are already in the directory are not copied again. Run it on the machine of the server, as its user and with its configuration.

Examples:

	quarry backup /mnt/backups --keep 7 --data /var/lib/quarry
	quarry backup /mnt/backups --config quarry.yaml --offline
	quarry restore /mnt/backups --verify

Exit status: 0 if the new generation is complete, 1 if not. Older generations remain usable.`
}

// backupResult is the output of --json.
type backupResult struct {
	Generation  int              `json:"generation"`
	CreatedAt   time.Time        `json:"createdAt"`
	Files       int              `json:"files"`
	Bytes       int64            `json:"bytes"`
	CopiedFiles int              `json:"copiedFiles"`
	CopiedBytes int64            `json:"copiedBytes"`
	Removed     []int            `json:"removedGenerations"`
	Missing     int              `json:"missingObjects"`
	Log         string           `json:"log"`
	Positions   []event.Position `json:"positions"`
}

// Run implements the command.
func (c *backupCommand) Run(ctx context.Context, s streams) error {
	if c.Keep < 0 {
		return usageErrorf("--keep: want a number from 1")
	}
	settings, err := c.loadWithoutSecrets(s)
	if err != nil {
		return err
	}
	r, err := c.backUp(ctx, s, settings)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return c.printResult(s, r)
}

// loadWithoutSecrets loads the configuration without its secrets. Neither a backup nor a
// restore needs them.
func (f *configFlags) loadWithoutSecrets(s streams) (*config.Config, error) {
	permissions.RestrictUmask()
	loader := f.newLoader(s)
	loader.WithoutSecrets = true
	settings, _, err := loadSettings(s, loader)
	return &settings, err
}

func (c *backupCommand) backUp(ctx context.Context, s streams, settings *config.Config) (*backup.Result, error) {
	if err := checkApart(c.Directory, settings); err != nil {
		return nil, err
	}
	d, err := backup.Create(c.Directory)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // the lock ends with the process anyway
	display := terminal.NewProgress(s.errScreen)
	defer display.Close()
	display.Update("reading the event log")
	run := &backupRun{c: c, d: d, settings: settings, display: display}
	if c.Offline {
		return run.backUpOffline(ctx)
	}
	for try := 1; ; try++ {
		r, err := run.backUpOnline(ctx)
		if try == backupTries || !errors.Is(err, backup.ErrVanished) {
			return r, err
		}
	}
}

// checkApart rejects a backup directory inside a directory that is backed up: both would
// be lost together, and the backup would contain itself.
func checkApart(dir string, settings *config.Config) error {
	path, err := resolvePath(dir)
	if err != nil {
		return err
	}
	for _, own := range append(settings.ChosenDirectories(), settings.OwnDirectories()...) {
		below, err := resolvePath(own)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(below, path); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s is in %s, which is part of the backup: choose another directory, preferably on another disk", dir, own)
		}
	}
	return nil
}

// resolvePath returns the absolute path without symbolic links. The last elements of the
// path need not exist.
func resolvePath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved, nil
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	if parent, err = resolvePath(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}

// backupRun is one run of the command.
type backupRun struct {
	c        *backupCommand
	d        *backup.Directory
	settings *config.Config
	display  *terminal.Progress
}

// newSource returns the source of the backup, without the log.
func (b *backupRun) newSource(ctx context.Context) (backup.Source, error) {
	src := backup.Source{Segments: b.settings.SegmentsDir(), Release: boot.ReadBuild().Version}
	var err error
	if src.Objects, err = openBucket(ctx, b.settings); err != nil {
		return src, err
	}
	if b.settings.Access.Secret.IsZero() {
		src.Secret = filepath.Join(b.settings.Data, backup.SecretName)
	}
	return src, nil
}

// openBucket opens the segment store if it is in a bucket, and returns nil otherwise.
func openBucket(ctx context.Context, settings *config.Config) (segmentstore.Driver, error) {
	if !settings.SegmentsInBucket() {
		return nil, nil
	}
	return segmentdriver.Open(ctx, settings, nil, slog.New(slog.DiscardHandler))
}

func (b *backupRun) writeGeneration(ctx context.Context, src backup.Source) (*backup.Result, error) {
	r, err := b.d.Write(ctx, src, backup.Options{Keep: b.c.Keep, Progress: b.showProgress})
	if err != nil {
		return nil, err
	}
	if err := backup.NoteLast(b.settings.Data, b.c.Directory, &r); err != nil {
		b.display.Print(fmt.Sprintf("generation %d is complete; quarry doctor does not know of it: %v", r.Generation, err))
	}
	return &r, nil
}

func (b *backupRun) showProgress(p backup.Progress) {
	b.display.Update(fmt.Sprintf("%d of %d files, %s", p.Files, p.FilesTotal, sizeText(p.Bytes)))
}

// backUpOffline backs up the data directory of a stopped server. It changes nothing in
// that directory.
func (b *backupRun) backUpOffline(ctx context.Context) (*backup.Result, error) {
	if _, err := os.Stat(b.settings.Data); err != nil {
		return nil, fmt.Errorf("the data directory cannot be read: %w", err)
	}
	if err := backup.CheckRestored(b.settings.Data); err != nil {
		return nil, err
	}
	lock, err := disk.LockDirectory(b.settings.Data)
	if errors.Is(err, disk.ErrHeld) {
		return nil, fmt.Errorf("%s is used by a running server: leave out --offline, or stop the server", b.settings.Data)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // the lock ends with the process anyway
	src, err := b.newSource(ctx)
	if err != nil {
		return nil, err
	}
	if b.settings.Log.Driver == backup.LogKafka {
		if src.Positions, err = logdriver.ReadEnds(ctx, b.settings); err != nil {
			return nil, err
		}
	} else {
		src.Log = b.settings.LogDir()
	}
	return b.writeGeneration(ctx, src)
}

// backUpOnline asks the server to keep the files, and copies them. The copied files are
// complete whatever happens to the server in the meantime: a missing file fails the
// backup.
func (b *backupRun) backUpOnline(ctx context.Context) (*backup.Result, error) {
	remote, err := newClient(cmp.Or(b.c.Server, urlOf(b.settings)), "", b.settings.Data)
	if err != nil {
		return nil, err
	}
	held, err := remote.BeginBackup(ctx)
	if errors.Is(err, client.ErrNoAnswer) {
		return nil, fmt.Errorf("%w; if the server is stopped, add --offline", err)
	}
	if err != nil {
		return nil, err
	}
	stop := renewBackup(ctx, remote, held.ID)
	defer stop()
	src, err := b.newSource(ctx)
	if err != nil {
		return nil, err
	}
	if src.Positions = positionsOf(held.Positions); held.Log == wire.BackupLogEmbedded {
		if src.Log, err = checkpointPath(b.settings, held.Checkpoint); err != nil {
			return nil, err
		}
	}
	return b.writeGeneration(ctx, src)
}

var checkpointName = regexp.MustCompile(`^backup-[0-9a-f]{16}$`)

// checkpointPath returns the path of a checkpoint. It derives the path from the settings,
// so that a server cannot make this command read any other path.
func checkpointPath(settings *config.Config, name string) (string, error) {
	path := filepath.Join(settings.LogDir(), name)
	if !checkpointName.MatchString(name) {
		return "", fmt.Errorf("the server returned an invalid checkpoint name %.80q", name)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the server's checkpoint cannot be read: %w; run the command on the machine of the server, as its user, with its --data or --config", err)
	}
	return path, nil
}

// renewBackup renews the lease of a backup until stop is called. stop ends the backup.
func renewBackup(ctx context.Context, remote *client.Client, id string) (stop func()) {
	renewing, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(renewEvery)
		defer ticker.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-ticker.C:
				// A server that does not answer may be down, but its files are still
				// there.
				_, _ = remote.RenewBackup(renewing, id)
			}
		}
	}()
	return func() {
		cancel()
		<-done
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		_ = remote.EndBackup(ending, id) // the lease expires within a minute anyway
	}
}

func positionsOf(in []wire.Position) (out []event.Position) {
	for _, p := range in {
		out = append(out, event.Position{Topic: event.Topic(p.Topic), Partition: int32(p.Partition), Offset: event.Offset(p.Offset)})
	}
	return out
}

func (c *backupCommand) printResult(s streams, r *backup.Result) error {
	m := &r.Manifest
	if m.Missing > 0 {
		_, _ = fmt.Fprintf(s.err, "warning: %d objects referenced by the log are missing from the segment store and from the backup, the first is %s; run quarry verify --repair, then back up again\n", m.Missing, m.MissingNames[0])
	}
	if c.JSON {
		return printJSONLines(s.out, []backupResult{{
			Generation: r.Generation, CreatedAt: m.CreatedAt, Files: r.Totals.Files, Bytes: r.Totals.Bytes, CopiedFiles: r.Copied.Files,
			CopiedBytes: r.Copied.Bytes,
			Removed:     append([]int{}, r.Removed...), Missing: m.Missing, Log: m.Log, Positions: m.Positions,
		}})
	}
	text := fmt.Sprintf("generation %d: %d files, %s; %d files, %s copied", r.Generation, r.Totals.Files, sizeText(r.Totals.Bytes),
		r.Copied.Files, sizeText(r.Copied.Bytes))
	if len(r.Removed) > 0 {
		text += fmt.Sprintf("; %d older generations removed", len(r.Removed))
	}
	if m.Log == backup.LogKafka {
		text += "\nthe event log is on the brokers and not in the backup"
	}
	if m.Secret == backup.SecretConfigured {
		text += "\naccess.secret is configured and not in the backup: keep a copy of it"
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

// sizeText formats a number of bytes in a readable unit.
func sizeText(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return formatKibibytes(n)
}
