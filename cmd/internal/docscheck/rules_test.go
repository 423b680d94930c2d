package docscheck

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const rulesDir = "deploy/prometheus"

// ruleFiles are the files of rules. The tests of X.yml are in X_test.yml.
var ruleFiles = []string{"rules", "slo"}

// runbook is the prefix of each runbook_url. The path of a page and the fragment of a
// heading follow it.
const runbook = "https://github.com/quarrysearch/quarry/blob/main/"

// alert contains the members of a rule that these tests check.
type alert struct {
	Alert       string            `yaml:"alert"`
	Record      string            `yaml:"record"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// readYAML reads a file of rulesDir.
func readYAML[T any](t *testing.T, name string) T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, rulesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

type ruleFile struct {
	Groups []struct {
		Rules []alert `yaml:"rules"`
	} `yaml:"groups"`
}

// readRules returns the alerts of all files, and the rules that record a series.
func readRules(t *testing.T) (alerts, recorded []alert) {
	t.Helper()
	for _, file := range ruleFiles {
		for _, g := range readYAML[ruleFile](t, file+".yml").Groups {
			for _, r := range g.Rules {
				if r.Alert == "" {
					recorded = append(recorded, r)
				} else {
					alerts = append(alerts, r)
				}
			}
		}
	}
	if len(alerts) == 0 || len(recorded) == 0 {
		t.Fatalf("the files have %d alerts and %d recorded series, want both", len(alerts), len(recorded))
	}
	return alerts, recorded
}

// TestAlertsLeadToAParagraph checks that an alert has what a person on call needs: its
// urgency, one sentence, and the paragraph with the remedy.
func TestAlertsLeadToAParagraph(t *testing.T) {
	all := readPages(t)
	alerts, _ := readRules(t)
	for _, a := range alerts {
		if s := a.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s: severity %q: want page or ticket", a.Alert, s)
		}
		if !strings.HasSuffix(a.Annotations["summary"], ".") {
			t.Errorf("%s: summary %q: want a sentence", a.Alert, a.Annotations["summary"])
		}
		path, ok := strings.CutPrefix(a.Annotations["runbook_url"], runbook)
		name, fragment, _ := strings.Cut(path, "#")
		switch page := all[name]; {
		case !ok || page == nil:
			t.Errorf("%s: runbook_url %q: want %sdocs/alerts.md#%s", a.Alert, a.Annotations["runbook_url"], runbook, strings.ToLower(a.Alert))
		case fragment != strings.ToLower(a.Alert):
			t.Errorf("%s: runbook_url leads to #%s, which is the paragraph of another alert", a.Alert, fragment)
		case !page.headings[fragment]:
			t.Errorf("%s: %s has no heading #%s", a.Alert, name, fragment)
		}
	}
}

// TestParagraphsHaveAlerts finds paragraphs about alerts that no longer exist.
func TestParagraphsHaveAlerts(t *testing.T) {
	all, _ := readRules(t)
	for name, page := range readPages(t) {
		if name == "CHANGELOG.md" {
			continue // the section is about the past
		}
		for _, word := range regexp.MustCompile(`\bQuarry[A-Z][A-Za-z]+`).FindAllString(page.Text, -1) {
			if !slices.ContainsFunc(all, func(a alert) bool { return a.Alert == word }) {
				t.Errorf("%s names the alert %s, which no file of rules has", name, word)
			}
		}
	}
}

var (
	rowPattern      = regexp.MustCompile("(?m)^\\| `(quarry_[a-z_]+)` \\| ([a-z]*) \\| ([^|]*) \\|")
	selectorPattern = regexp.MustCompile(`(quarry_[a-z_]+)(?:\{([^}]*)\})?`)
	matcherPattern  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	byPattern       = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
	templatePattern = regexp.MustCompile(`\$labels\.([a-z_]+)`)
)

// documentedLabels returns the labels of each metric in docs/metrics.md, by its name and
// by the names of the series of a histogram.
func documentedLabels(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for _, row := range rowPattern.FindAllStringSubmatch(string(page), -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return r == ',' || r == ' ' })
		known[row[1]] = labels
		if row[2] == "histogram" {
			known[row[1]+"_bucket"] = append(slices.Clone(labels), "le")
			known[row[1]+"_count"], known[row[1]+"_sum"] = labels, labels
		}
	}
	return known
}

// TestAlertsReadWhatServersWrite checks the metrics and labels of alerts: an alert on one
// that no server writes never fires.
func TestAlertsReadWhatServersWrite(t *testing.T) {
	known := documentedLabels(t)
	scraped := []string{"instance", "job"} // Prometheus adds these labels
	alerts, recorded := readRules(t)
	for _, a := range append(alerts, recorded...) {
		a.Alert += a.Record
		have := slices.Clone(scraped)
		for _, s := range selectorPattern.FindAllStringSubmatch(a.Expr, -1) {
			labels, ok := known[s[1]]
			if !ok {
				t.Errorf("%s reads %s, which docs/metrics.md does not have", a.Alert, s[1])
			}
			have = append(have, labels...)
			for _, m := range matcherPattern.FindAllStringSubmatch(s[2], -1) {
				if !slices.Contains(labels, m[1]) && !slices.Contains(scraped, m[1]) {
					t.Errorf("%s selects %s by %s: want one of %q", a.Alert, s[1], m[1], labels)
				}
			}
		}
		by := byPattern.FindAllStringSubmatch(a.Expr, -1)
		for _, group := range by {
			for label := range strings.SplitSeq(group[1], ",") {
				if label = strings.TrimSpace(label); !slices.Contains(have, label) {
					t.Errorf("%s groups by %s, which none of its metrics has", a.Alert, label)
				}
			}
		}
		for _, m := range templatePattern.FindAllStringSubmatch(a.Annotations["summary"], -1) {
			if len(by) > 0 && !strings.Contains(by[0][1], m[1]) || !slices.Contains(have, m[1]) {
				t.Errorf("%s names %s in its summary, which its expression does not keep", a.Alert, m[1])
			}
		}
	}
}

var firingPattern = regexp.MustCompile(`^ALERTS\{alertname="([A-Za-z]+)",alertstate="firing"\}$`)

type rulesTest struct {
	Cases []struct {
		Expr string           `yaml:"expr"`
		Want []map[string]any `yaml:"exp_samples"`
	} `yaml:"promql_expr_test"`
}

// TestEveryAlertFiresAndRests checks that the tests of rules contain both cases of each
// alert, because promtool does not report rules without tests.
func TestEveryAlertFiresAndRests(t *testing.T) {
	var tests []rulesTest
	for _, file := range ruleFiles {
		tests = append(tests, readYAML[struct {
			Tests []rulesTest `yaml:"tests"`
		}](t, file+"_test.yml").Tests...)
	}
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, test := range tests {
		for i, c := range test.Cases {
			m := firingPattern.FindStringSubmatch(c.Expr)
			switch {
			case m == nil:
				t.Errorf("a test of rules queries %s: want %s", c.Expr, firingPattern)
			case len(c.Want) > 0:
				fires[m[1]] = true
			case i > 0 && len(test.Cases[i-1].Want) > 0:
				rests[m[1]] = true // it must rest after it fired, not only before
			}
		}
	}
	alerts, _ := readRules(t)
	for _, a := range alerts {
		if !fires[a.Alert] || !rests[a.Alert] {
			t.Errorf("tests of rules: %s fires: %t, rests then: %t; want a case of each", a.Alert, fires[a.Alert], rests[a.Alert])
		}
	}
}

// TestRulesWithPromtool checks the rules, and runs their tests.
func TestRulesWithPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("QUARRY_REQUIRE_ALL") != "1":
		t.Skip("promtool is not installed; Debian and Ubuntu have it in the package prometheus")
	case err != nil:
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "rules_test.yml", "slo_test.yml"}} {
		command := exec.CommandContext(t.Context(), promtool, args...)
		command.Dir = filepath.Join(root, rulesDir)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
