package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
)

type topicsCommand struct {
	Describe describeTopicsCommand `cmd:"" default:"withargs" help:"Show the partitions and settings of the topics, and any deviations from the requirements."`
	Ensure   ensureTopicsCommand   `cmd:"" help:"Create missing topics and check all of them."`
	Copy     copyTopicsCommand     `cmd:"" help:"Copy the event log to Kafka, to other brokers, or to the embedded log."`
}

// Help implements kong.HelpProvider.
func (*topicsCommand) Help() string { return "Without a command, describes the topics." }

type describeTopicsCommand struct {
	configFlags
	JSON bool `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*describeTopicsCommand) Help() string {
	return `Prints the partitions, offsets, replicas and settings of each topic, with the required values. The embedded log can be read only while the server is stopped.

Example:

	quarry topics describe --config quarry.yaml`
}

// Help implements kong.HelpProvider.
func (*ensureTopicsCommand) Help() string {
	return `Creates the topics that are missing and prints all topics. Existing topics are not changed.

Example:

	quarry topics ensure --config quarry.yaml

Exit status: 1 if a topic deviates from the requirements.`
}

// Run implements the command.
func (c *describeTopicsCommand) Run(ctx context.Context, s streams) error {
	_, err := printTopics(ctx, s, &c.configFlags, c.JSON, logdriver.DescribeTopics)
	return err
}

type ensureTopicsCommand struct {
	configFlags
	JSON bool `help:"Print one JSON object per line."`
}

// Run implements the command.
func (c *ensureTopicsCommand) Run(ctx context.Context, s streams) error {
	reports, err := printTopics(ctx, s, &c.configFlags, c.JSON, logdriver.EnsureTopics)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(reports, func(r topics.Report) bool { return len(r.Deviations) > 0 }) {
		return exitError(exitFailed)
	}
	return nil
}

// printTopics prints the topics that look returns.
func printTopics(ctx context.Context, s streams, flags *configFlags, asJSON bool, look func(context.Context, logdriver.Options) ([]topics.Report, error)) ([]topics.Report, error) {
	settings, logger, err := flags.readSettings(s)
	if err != nil {
		return nil, err
	}
	reports, err := look(ctx, logdriver.Options{Config: &settings, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("topics: %w", err)
	}
	if asJSON {
		return reports, printJSONLines(s.out, reports)
	}
	for _, r := range reports {
		if err := printTopic(s.out, &r); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

func printTopic(out io.Writer, r *topics.Report) error {
	if !r.Exists {
		_, err := fmt.Fprintf(out, "%s does not exist; quarry topics ensure creates it\n\n", r.Topic)
		return err
	}
	_, _ = fmt.Fprintf(out, "%s, %s log\n", r.Topic, r.Driver)
	if err := printPartitions(out, r.Partitions); err != nil {
		return err
	}
	if err := printSettings(out, r.Settings); err != nil {
		return err
	}
	for _, d := range r.Deviations {
		gravity := "warning"
		if d.Refused {
			gravity = "refused"
		}
		_, _ = fmt.Fprintf(out, "  %s: %s\n    why:  %s\n    fix:  %s\n", gravity, d.What, d.Why, d.Mend)
	}
	_, err := fmt.Fprintln(out)
	return err
}

func printPartitions(out io.Writer, partitions []topics.PartitionReport) error {
	t := newTable(out)
	t.indent = "  "
	t.row("PARTITION", "LEADER", "REPLICAS", "IN SYNC", "FIRST", "NEXT")
	for _, p := range partitions {
		leader := ""
		if p.Leader != nil {
			leader = strconv.Itoa(int(*p.Leader))
		}
		t.row(strconv.Itoa(int(p.Partition)), leader, brokerList(p.Replicas), brokerList(p.InSync),
			strconv.FormatInt(int64(p.First), 10), strconv.FormatInt(int64(p.Next), 10))
	}
	return t.Flush()
}

func printSettings(out io.Writer, settings []topics.SettingReport) error {
	if len(settings) == 0 {
		return nil
	}
	t := newTable(out)
	t.indent = "  "
	t.row("SETTING", "VALUE", "WANTED")
	for _, s := range settings {
		t.row(s.Name, s.Value, s.Wanted)
	}
	return t.Flush()
}

func brokerList(numbers []int32) string {
	var texts []string
	for _, n := range numbers {
		texts = append(texts, strconv.Itoa(int(n)))
	}
	return strings.Join(texts, ",")
}
