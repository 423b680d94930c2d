package rounds

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/fleet"
	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/host"
	"github.com/quarrysearch/quarry/cmd/internal/accounting"
)

// Tally holds the results of a run.
type Tally struct {
	Setup fleet.Setup
	// Recoveries holds the recovery times of the rounds that passed, by fault.
	Recoveries map[string][]time.Duration
	Counts     host.Counts
	// Verified counts the comparisons with a rebuild. DiskExits counts the processes that
	// ended because of a full disk.
	Verified, DiskExits int
	// StartsAgain counts the starts that ended because brokers did not answer.
	StartsAgain int
	// Followed counts the deliveries with an outcome in the ledger.
	Followed int
	Damage   Damage
	// Account is the last account of the log.
	Account *accounting.Account
	// Most holds the largest observed value of each bound.
	Most    map[string]float64
	Skipped map[string]bool
}

// Damage counts the outcomes of damaged stores.
type Damage struct {
	// Rebuilt counts stores that the start rebuilt, Later those whose damage a running
	// process found, ByVerify those whose damage only the comparison found, and Harmless
	// those without damage to find.
	Rebuilt, Later, ByVerify, Harmless int
	// Started counts the stores whose outcome is not known yet.
	Started int
}

func (d *Damage) hasOpen() bool { return d.Started > d.Later+d.ByVerify+d.Harmless }

func (d *Damage) closeOpen() { d.Harmless = d.Started - d.Later - d.ByVerify }

func newTally(s fleet.Setup) *Tally {
	return &Tally{Setup: s, Recoveries: map[string][]time.Duration{}, Most: map[string]float64{}, Skipped: map[string]bool{}}
}

func (t *Tally) addRecovery(fault string, recovery time.Duration) {
	t.Recoveries[fault] = append(t.Recoveries[fault], recovery)
}

func (t *Tally) recordMax(name string, figure float64) { t.Most[name] = max(t.Most[name], figure) }

func (t *Tally) noteSkipped(why string) { t.Skipped[why] = true }

// Rounds returns the number of rounds that passed.
func (t *Tally) Rounds() int {
	n := 0
	for _, times := range t.Recoveries {
		n += len(times)
	}
	return n
}

// Markdown formats tallies as the tables of docs/reliability.md.
func Markdown(tallies []*Tally) string {
	var b strings.Builder
	b.WriteString("| fault |")
	for _, t := range tallies {
		fmt.Fprintf(&b, " %s: rounds | recovery p50 | p99 |", t.Setup)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- | --- | --- |", len(tallies)) + "\n")
	for _, f := range allFaults {
		fmt.Fprintf(&b, "| %s |", f.name)
		for _, t := range tallies {
			recoveryCells(&b, t.Recoveries[f.name])
		}
		b.WriteString("\n")
	}
	b.WriteString("| **all** |")
	for _, t := range tallies {
		var all []time.Duration
		for _, times := range t.Recoveries {
			all = append(all, times...)
		}
		recoveryCells(&b, all)
	}
	b.WriteString("\n\n")
	for _, t := range tallies {
		b.WriteString(t.formatSentence() + "\n")
	}
	return b.String()
}

func recoveryCells(b *strings.Builder, times []time.Duration) {
	if len(times) == 0 {
		b.WriteString(" | | |")
		return
	}
	fmt.Fprintf(b, " %d | %.2f s | %.2f s |", len(times), computeQuantile(times, 0.5).Seconds(), computeQuantile(times, 0.99).Seconds())
}

func computeQuantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func (t *Tally) formatSentence() string {
	c := t.Counts
	s := fmt.Sprintf("- **%s**: %d rounds; %d pushes, %d acknowledged (%d deliveries were refused with 503, %d got no answer, %d were repeated), %d of them with an outcome in the ledger, none lost; "+
		"%d comparisons with a rebuild; damaged stores: %d rebuilt at the start, %d met later, %d found by the comparison alone, %d harmless; "+
		"%d processes ended over a full disk, and %d starts because brokers did not answer.",
		t.Setup, t.Rounds(), c.Pushes, c.Acknowledged, c.Refused, c.Failed, c.Redelivered, t.Followed, t.Verified, t.Damage.Rebuilt, t.Damage.Later, t.Damage.ByVerify,
		t.Damage.Harmless, t.DiskExits, t.StartsAgain)
	if a := t.Account; a != nil {
		s += fmt.Sprintf(" The log: %d records, %d pushes, %d revisions, %d of them written again and dropped by their ID, %d dead letters, all of what was injected; %d pushes answered by a revision, %d without, %d unanswered.",
			a.Records, a.Pushes, a.Revisions, a.Doubled, len(a.DeadOf), a.Indexed, a.Handled, len(a.Open))
	}
	var most []string
	for _, name := range slices.Sorted(maps.Keys(t.Most)) {
		most = append(most, fmt.Sprintf("%s %.0f", name, t.Most[name]))
	}
	s += " Most of one process: " + strings.Join(most, ", ") + "."
	for why := range t.Skipped {
		s += " Left out: " + why + "."
	}
	return s
}
