package kafkalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Setting is one setting of a topic: its current and its wanted value.
type Setting struct {
	Name   string
	Value  string // empty if the brokers did not report it
	Wanted string // human-readable: a value, or "at least" one
	Reason string
	ok     func(value string) bool
	fix    string // the value that fixes it
	loss   bool
}

// Deviates reports whether the value differs from the wanted one. A value that the
// brokers did not report does not deviate.
func (s Setting) Deviates() bool { return s.Value != "" && !s.ok(s.Value) }

// Deviation is one difference between a topic and its specification.
type Deviation struct {
	// What describes the deviation, and Why its effect, each as a clause.
	What string
	Why  string
	// Setting is the name of the setting that deviates; empty if it is not a setting.
	Setting string
	// Fix is the command that fixes it, or an instruction.
	Fix string
	// Loss reports that brokers will delete, or have deleted, records that must be kept,
	// even without a failure.
	Loss bool
}

// String returns the deviation as one line.
func (d Deviation) String() string { return d.What + ": " + d.Why + "; fix: " + d.Fix }

// TimestampType is the name of the setting that decides whether records keep the times
// that they are sent with.
const TimestampType = "message.timestamp.type"

// maxBatchBytes is the batch size that a topic must accept: a batch of maxRequestBytes
// with its header, and Kafka's own default.
const maxBatchBytes = 1<<20 + 12

// Settings returns the current and wanted values of the settings that matter.
func (s TopicSpec) Settings(state TopicState) []Setting {
	copies, inSync := copiesOf(state), 1
	if copies >= 3 {
		inSync = 2
	}
	forever := s.Retention == 0
	retention, bytes := s.retentionMillis(), "-1"
	settings := []Setting{
		{Name: "cleanup.policy", Wanted: "delete", ok: valueEquals("delete"), fix: "delete", loss: true,
			Reason: "compaction keeps the last record of a repository and deletes its history, from which everything else is rebuilt"},
		{Name: "retention.ms", Wanted: retention, ok: valueEquals(retention), fix: retention, loss: forever,
			Reason: "the log is the truth: a record that was deleted cannot be rebuilt from anything"},
		{Name: "retention.bytes", Wanted: bytes, ok: valueEquals(bytes), fix: bytes, loss: forever,
			Reason: "as retention.ms, by size"},
		{Name: "min.insync.replicas", Wanted: fmt.Sprintf("at least %d", inSync), ok: atLeast(inSync), fix: strconv.Itoa(inSync),
			Reason: "with fewer, a record is acknowledged that is on one disk only, and the end of one broker loses it"},
		{Name: "max.message.bytes", Wanted: fmt.Sprintf("at least %d", maxBatchBytes), ok: atLeast(maxBatchBytes), fix: strconv.Itoa(maxBatchBytes),
			Reason: "a large event, or many that come at once, would be refused as too large"},
		{Name: "unclean.leader.election.enable", Wanted: "false", ok: valueEquals("false"), fix: "false",
			Reason: "a broker that lacks acknowledged records could become the leader, and they would be gone"},
		{Name: TimestampType, Wanted: "CreateTime", ok: valueEquals("CreateTime"), fix: "CreateTime",
			Reason: "the time of a record is when it was appended, also in a copy of the log"},
	}
	for i := range settings {
		settings[i].Value = state.Settings[settings[i].Name]
	}
	return settings
}

func valueEquals(want string) func(string) bool { return func(v string) bool { return v == want } }

func atLeast(want int) func(string) bool {
	return func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n >= want
	}
}

// Deviations returns the deviations of state from s. The commands that fix them name the
// brokers of l.
func (l *Log) Deviations(s TopicSpec, state TopicState) []Deviation {
	deviations := s.layoutDeviations(state)
	for _, setting := range s.Settings(state) {
		if setting.Deviates() {
			deviations = append(deviations, l.newDeviation(s, setting))
		}
	}
	return deviations
}

func (l *Log) newDeviation(s TopicSpec, setting Setting) Deviation {
	return Deviation{
		What: fmt.Sprintf("%s of %s is %s, wanted is %s", setting.Name, s.Topic, setting.Value, setting.Wanted),
		Why:  setting.Reason,
		Fix: fmt.Sprintf("kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config %s=%s",
			strings.Join(l.opts.Brokers, ","), s.Topic, setting.Name, setting.fix),
		Loss: setting.loss, Setting: setting.Name,
	}
}

func (s TopicSpec) layoutDeviations(state TopicState) []Deviation {
	var deviations []Deviation
	if n := len(state.Partitions); s.Partitions != 0 && n != int(s.Partitions) {
		deviations = append(deviations, Deviation{
			What: fmt.Sprintf("%s has %d partitions, configured are %d", s.Topic, n, s.Partitions),
			Why:  "the partition of a repository follows from their number, which is fixed when a topic is created",
			Fix:  fmt.Sprintf("configure %d", n),
		})
	}
	if copies := copiesOf(state); s.Replication > 0 && copies < s.Replication {
		deviations = append(deviations, Deviation{
			What: fmt.Sprintf("%s has %d copies, configured are %d", s.Topic, copies, s.Replication),
			Why:  "fewer brokers may be lost than was planned",
			Fix:  "add copies by kafka-reassign-partitions.sh",
		})
	}
	if behind := partitionsWhere(state, lacksCopies); len(behind) > 0 {
		deviations = append(deviations, Deviation{
			What: fmt.Sprintf("partitions %s of %s lack complete copies", strings.Join(behind, ", "), s.Topic),
			Why:  "brokers are away, or catch up: until they are back fewer may be lost, and below min.insync.replicas nothing is taken",
			Fix:  "look after the brokers",
		})
	}
	if cut := partitionsWhere(state, func(p PartitionState) bool { return p.First > 0 }); len(cut) > 0 && s.Retention == 0 {
		deviations = append(deviations, Deviation{
			What: fmt.Sprintf("partitions %s of %s do not begin at offset 0", strings.Join(cut, ", "), s.Topic),
			Why:  "records were deleted: what followed from them is in the projections alone, and new processes start only from a snapshot",
			Fix:  "create snapshots of the projections, and see docs/scaling.md#a-log-without-its-beginning",
		})
	}
	return deviations
}

// copiesOf returns the smallest number of replicas of a partition.
func copiesOf(state TopicState) int {
	copies := 0
	for i, p := range state.Partitions {
		if n := len(p.Replicas); i == 0 || n < copies {
			copies = n
		}
	}
	return copies
}

// lacksCopies reports whether a replica of the partition is not in sync.
func lacksCopies(p PartitionState) bool { return !slices.Equal(p.Replicas, p.InSync) }

// partitionsWhere returns the numbers of the partitions for which is returns true.
func partitionsWhere(state TopicState, is func(PartitionState) bool) []string {
	var numbers []string
	for _, p := range state.Partitions {
		if is(p) {
			numbers = append(numbers, strconv.Itoa(int(p.Number)))
		}
	}
	return numbers
}
