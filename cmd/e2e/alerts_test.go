package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These are the minutes for which the last scrape of each part of an episode is repeated
// for Prometheus. They are longer than each "for", the ages and the ranges in the alerts.
const (
	restMinutes   = 20
	faultMinutes  = 120
	repairMinutes = 400
)

// scrape is the result of one GET /metrics, or of its failure: values by series.
type scrape struct {
	at     time.Time
	values map[string]string
}

var samplePattern = regexp.MustCompile(`(?m)^((?:quarry_|process_start_time_seconds)[a-z_]*)(?:\{(.*)\})? (\S+)$`)

const scrapeTarget = `instance="a:7070",job="quarry"`

// scrapeServer scrapes a server once.
func scrapeServer(s *server) scrape {
	up := "up{" + scrapeTarget + "}"
	seen := scrape{time.Now(), map[string]string{up: "0"}}
	if text := metricsOf(s); text != "" {
		seen.values[up] = "1"
		for _, sample := range samplePattern.FindAllStringSubmatch(text, -1) {
			seen.values[sample[1]+"{"+strings.TrimPrefix(sample[2]+","+scrapeTarget, ",")+"}"] = sample[3]
		}
	}
	return seen
}

// metricsOf returns the metrics of a server, or an empty string if it does not answer.
func metricsOf(s *server) string {
	response, err := http.Get(s.metricsURL + "/metrics")
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// metricOf returns the largest sample of a metric whose labels contain a text, and
// whether there is one.
func metricOf(s *server, name, labels string) (largest float64, found bool) {
	for _, sample := range samplePattern.FindAllStringSubmatch(metricsOf(s), -1) {
		if sample[1] != name || !strings.Contains(sample[2], labels) {
			continue
		}
		if v, err := strconv.ParseFloat(sample[3], 64); err == nil && (!found || v > largest) {
			largest, found = v, true
		}
	}
	return largest, found
}

// An episode contains the scrapes of a server before, during and after a fault.
// Prometheus gets one scrape per minute; the last scrape of each part is repeated.
type episode struct {
	alerts                []string
	before, during, after []scrape
	// ages are gauges of seconds that grow while the fault lasts: by about one second per
	// second between two scrapes, and at the same rate while the last scrape is repeated.
	ages []string
	// renewed are timestamp gauges that are renewed regularly after the repair: they stay
	// as recent as in the last scrape.
	renewed []string
}

// splitParts returns the parts, each with the minutes for which its last scrape is
// repeated.
func (e *episode) splitParts() [3]episodePart {
	return [3]episodePart{{e.before, restMinutes}, {e.during, faultMinutes}, {e.after, repairMinutes}}
}

type episodePart struct {
	scrapes []scrape
	hold    int
}

func (p episodePart) durationMinutes() int { return len(p.scrapes) + p.hold }

// seriesValues returns the samples of a series, one per minute. It converts timestamps to
// promtool's clock, which begins at 0.
func (e *episode) seriesValues(series string) []string {
	name, _, _ := strings.Cut(series, "{")
	var out []string
	for i, part := range e.splitParts() {
		last := "_"
		for _, s := range part.scrapes {
			value, ok := s.values[series]
			switch moment, err := strconv.ParseFloat(value, 64); {
			case !ok:
				last = "_"
			case strings.HasSuffix(name, "_timestamp_seconds") && err == nil && moment > 0:
				last = fmt.Sprintf("%.3f", float64(60*len(out))-(float64(s.at.UnixMilli())/1000-moment))
			default:
				last = value
			}
			out = append(out, last)
		}
		age, err := strconv.ParseFloat(last, 64)
		grows := i == 1 && slices.Contains(e.ages, name) || i == 2 && slices.Contains(e.renewed, name)
		grows = grows && err == nil && age > 0
		for minute := range part.hold {
			if grows {
				last = fmt.Sprint(age + float64(60*(minute+1)))
			}
			out = append(out, last)
		}
	}
	return out
}

// selectRules returns the file of rules with only the alerts of the episode, whose text is
// unchanged. promtool evaluates each rule for each minute, so the other rules would take
// ten times the CPU time.
func (e *episode) selectRules(rules string) string {
	starts := ruleStart.FindAllStringSubmatchIndex(rules, -1)
	selected := rules[:starts[0][0]]
	for i, start := range starts {
		end := len(rules)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if slices.Contains(e.alerts, rules[start[2]:start[3]]) {
			selected += rules[start[0]:end]
		}
	}
	return selected
}

// ruleStart matches the first line of a rule.
var ruleStart = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)

// rulesTest returns a promtool test: no alert of the episode fires before the fault, each
// one fires while it lasts, and none fires after the repair. The file of rules has the
// given text.
func (e *episode) rulesTest(file, rules string) string {
	all := map[string]bool{}
	for _, part := range e.splitParts() {
		for _, s := range part.scrapes {
			for series := range s.values {
				if name, _, _ := strings.Cut(series, "{"); strings.Contains(rules, name) {
					all[series] = true
				}
			}
		}
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "rule_files: [%s]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n", file)
	for _, series := range slices.Sorted(maps.Keys(all)) {
		_, _ = fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", series, strings.Join(e.seriesValues(series), " "))
	}
	parts := e.splitParts()
	rested := parts[0].durationMinutes()
	repaired := rested + parts[1].durationMinutes()
	end := repaired + parts[2].durationMinutes()
	_, _ = fmt.Fprint(&b, "    promql_expr_test:\n")
	for _, alert := range e.alerts {
		firing := fmt.Sprintf(`ALERTS{alertname="%s",alertstate="firing"}`, alert)
		fired := func(minutes int) string {
			return fmt.Sprintf(`'group by (alertname) (count_over_time(%s[%dm]))'`, firing, minutes-1)
		}
		_, _ = fmt.Fprintf(&b, "      - {eval_time: %dm, expr: %s}\n", rested-1, fired(rested))
		_, _ = fmt.Fprintf(&b, "      - {eval_time: %dm, expr: %s, exp_samples: [{labels: '{alertname=\"%s\"}', value: 1}]}\n", repaired-1, fired(parts[1].durationMinutes()), alert)
		_, _ = fmt.Fprintf(&b, "      - {eval_time: %dm, expr: 'group by (alertname) (%s)'}\n", end-1, firing)
	}
	return b.String()
}

// checkRules compares the ages with the clock, and makes promtool evaluate the rules of
// the alerts over the episode.
func (e *episode) checkRules(t *testing.T, promtool, rules string) {
	t.Helper()
	for _, age := range e.ages {
		if !e.growsWithClock(age) {
			_, pace := e.growthOf(age)
			t.Errorf("%s grew by %.2f a second while the fault lasted, want about 1", age, pace)
		}
	}
	dir := t.TempDir()
	file, selected := filepath.Join(dir, "test.yml"), e.selectRules(rules)
	writeTextFile(t, filepath.Join(dir, "rules.yml"), selected)
	writeTextFile(t, file, e.rulesTest("rules.yml", selected))
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
		if len(out) > 4000 {
			out = out[:4000]
		}
		t.Errorf("%s: promtool: %v\n%s", e.alerts, err, out)
	}
}

// growsWithClock reports whether an age grew by about one second per second between the
// last two scrapes of the fault.
func (e *episode) growsWithClock(age string) bool {
	_, pace := e.growthOf(age)
	return pace >= 0.5 && pace <= 2
}

// growthOf returns by how much an age grew between the last two scrapes of the fault, and
// by how much per second, for the series with the highest final age.
func (e *episode) growthOf(age string) (growth, pace float64) {
	n := len(e.during)
	if n < 2 {
		return 0, 0
	}
	oldest := 0.0
	for series, value := range e.during[n-1].values {
		name, _, _ := strings.Cut(series, "{")
		was, _ := strconv.ParseFloat(e.during[n-2].values[series], 64)
		is, err := strconv.ParseFloat(value, 64)
		if name == age && err == nil && is > oldest {
			oldest, growth = is, is-was
		}
	}
	return growth, growth / e.during[n-1].at.Sub(e.during[n-2].at).Seconds()
}
