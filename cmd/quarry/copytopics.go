package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/pipeline/eventlog/logcopy"
	"github.com/quarrysearch/quarry/pipeline/repartition"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

// copiedGroups are the groups that commit offsets. The others only distribute work.
var copiedGroups = []logcopy.Group{
	{Name: worker.DefaultGroup, Topic: event.TopicEvents},
	{Name: compactor.DefaultGroup, Topic: event.TopicEvents},
	{Name: projections.Group, Topic: event.TopicEvents},
}

type copyTopicsCommand struct {
	configFlags
	To     string `required:"" placeholder:"FILE" complete:"path" help:"Configuration file of the target. Neither the environment nor --data and --set apply to it."`
	DryRun bool   `help:"Compare the logs and print what would be copied."`
	JSON   bool   `help:"Print one JSON object per line."`

	Repartition bool `help:"Give the target the number of partitions in its log.partitions. It begins with the state: the history of the index is given up."`
}

// Help implements kong.HelpProvider.
func (*copyTopicsCommand) Help() string {
	return `Copies the event log of --config to the log of --to: from the embedded log to Kafka, from one Kafka cluster to another, or from Kafka to the embedded log. Offsets, times, keys, headers, values and committed offsets stay equal, so the server continues on the copy with the same data directory, and nothing is indexed again. Stop all servers first.

Records that the target has already are compared, and all copied records are read back. If the command is interrupted, run it again to resume.

With --repartition, the target gets another number of partitions, without indexing again from git. --config must be that of a process with the roles pipeline and query that has applied the whole log. Its state is written as a new log, its text is copied to new segments, and its projections are replaced. Kept: repositories, their settings, refs, files, pins, precise indexes, numbers, mirrors, accounts, keys, permissions and the audit log. Given up: versions of the index before the move (asOf, replay --to), webhook deliveries, dead letters, results of erasures, and positions that clients hold. The first server deletes the old segments.

Examples:

	quarry topics copy --config quarry.yaml --to kafka.yaml --dry-run
	quarry topics copy --config quarry.yaml --to kafka.yaml
	quarry topics copy --config quarry.yaml --to kafka.yaml --repartition

Exit status: 0 if the target equals the source (with --dry-run: can be made equal), 1 if not.`
}

// Run implements the command.
func (c *copyTopicsCommand) Run(ctx context.Context, s streams) error {
	loader := c.newLoader(s)
	loader.WithoutSecrets = !c.Repartition // those of connections; the password of Kafka is read when it is used
	from, logger, err := loadSettings(s, loader)
	if err != nil {
		return err
	}
	to, _, err := loadSettings(s, config.Loader{File: c.To, WithoutSecrets: true})
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if c.Repartition && to.Log.Partitions == 0 {
		return usageErrorf("--repartition: set log.partitions in %s", c.To)
	}
	display := terminal.NewProgress(s.errScreen)
	options := logdriver.CopyOptions{
		From: &from, To: &to, Logger: logger, Groups: copiedGroups, DryRun: c.DryRun,
		Progress: func(p logcopy.Progress) {
			display.Update(fmt.Sprintf("%s %s/%d: %d of %d records", p.Step, p.Topic, p.Partition, p.Next, p.End))
		},
	}
	var partitions []logcopy.Partition
	if c.Repartition {
		boot.ApplyMemoryLimit(int64(from.Runtime.MemoryLimitBytes), from.Runtime.GCPercent)
		registry := prometheus.NewRegistry()
		var result repartition.Result
		result, partitions, err = server.Repartition(ctx, server.Options{Config: &from, Logger: logger, Registerer: registry, Gatherer: registry}, options,
			func(step string, done, total int64) { display.Update(fmt.Sprintf("%s: %d of %d", step, done, total)) })
		text := fmt.Sprintf("%d repositories, %d refs, %d documents with %d bytes of text in %d new segments, %d pushes to handle",
			result.Repositories, result.Refs, result.Documents, result.TextBytes, result.Segments, result.Pushes)
		if c.DryRun {
			text = fmt.Sprintf("Nothing prevents the move to %d partitions.", to.Log.Partitions)
		}
		if err == nil {
			display.Print(text)
		}
	} else {
		partitions, err = logdriver.Copy(ctx, options)
	}
	display.Close()
	if err != nil && !errors.Is(err, logcopy.ErrRefused) {
		return fmt.Errorf("topics copy: %w", err)
	}
	if c.JSON {
		if printErr := printJSONLines(s.out, partitions); printErr != nil {
			return printErr
		}
	} else if printErr := c.printPartitions(s.out, partitions); printErr != nil {
		return printErr
	}
	if err != nil {
		return fmt.Errorf("topics copy: %w", err)
	}
	if c.DryRun || c.JSON {
		return nil
	}
	steps := "The logs are equal. " + nextSteps(&from, &to, c.To)
	if c.Repartition {
		steps = "The new log leads to the same state. " + nextSteps(&from, &to, c.To) + `
  4. empty the directories of projections of all other processes before you start them`
	}
	_, err = fmt.Fprintln(s.out, steps)
	return err
}

func (c *copyTopicsCommand) printPartitions(out io.Writer, partitions []logcopy.Partition) error {
	if len(partitions) == 0 {
		return nil
	}
	lacking := "COPIED"
	if c.DryRun {
		lacking = "TO COPY"
	}
	t := newTable(out)
	t.indent = "  "
	t.row("TOPIC", "PARTITION", "FIRST", "NEXT", "PRESENT", lacking)
	for _, p := range partitions {
		cell := strconv.FormatInt(p.Lacking, 10)
		if p.Refused != "" {
			cell = "refused"
		}
		t.row(string(p.Topic), strconv.Itoa(int(p.Partition)), strconv.FormatInt(int64(p.First), 10), strconv.FormatInt(int64(p.Next), 10),
			strconv.FormatInt(p.Present, 10), cell)
	}
	return t.Flush()
}

// nextSteps describes how to continue on the copy. A server that is started on the old log
// would go another way, which no later copy could join.
func nextSteps(from, to *config.Config, file string) string {
	soon := ""
	if to.Log.Driver == "kafka" {
		soon = ", within a few days: brokers forget committed offsets"
	}
	aside := fmt.Sprintf("put the old log aside, so that no server continues it: mv %s %s.copied", from.LogDir(), from.LogDir())
	if from.Log.Driver == "kafka" {
		aside = "keep every server from the old brokers, and delete the topics there once the new log is trusted"
	}
	return fmt.Sprintf(`Next:
  1. %s
  2. set log.driver to %s, and the rest of log as in %s
  3. start the server with the same data directory%s`, aside, to.Log.Driver, file, soon)
}
