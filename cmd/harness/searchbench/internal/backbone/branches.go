package backbone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
)

// historySet is the set of the manifest whose first repository is measured.
const historySet = "history"

// These are the sizes of the experiments, in branches.
const (
	Sixty     = 60
	Many      = 237
	Thousands = 3000
	clones    = 3
)

// BranchOptions are the options of MeasureBranches. Zoekt may be nil.
type BranchOptions struct {
	Quarry   *engine.Quarry
	Zoekt    *engine.Zoekt
	Corpora  string
	Manifest corpus.Manifest
	// Work is created, and removed at the end.
	Work string
	// Rounds is the number of imports of each kind.
	Rounds int
	// Sixty, Many and Thousands are the numbers of branches. Default: the constants.
	Sixty, Many, Thousands int
	// SettleTime is the time without a merge after which merges count as ended. Default:
	// engine.SettleTime.
	SettleTime time.Duration
	Log        func(format string, args ...any)
}

func (o *BranchOptions) ensureDefaults() {
	for _, n := range []struct {
		value     *int
		otherwise int
	}{{&o.Sixty, Sixty}, {&o.Many, Many}, {&o.Thousands, Thousands}} {
		if *n.value == 0 {
			*n.value = n.otherwise
		}
	}
}

// An Import holds the results of one run of Quarry.
type Import struct {
	Wall      time.Duration
	PeakBytes int64
	// Documents is the number of documents written to segments, and TextBytes their text.
	// Dropped is the number of documents that merges dropped.
	Documents, Dropped, TextBytes float64
	// LogBytes is the size of the records appended to the log. RowBytes is the size of
	// the keys and values in the projection of places, without those of segments.
	LogBytes, RowBytes float64
}

// BranchFigures holds the median run of each experiment. Missing values are zero.
type BranchFigures struct {
	Zoekt                                time.Duration
	Sixty, Many, Text, Clones, Thousands Import
	// DistinctDocuments and DistinctBytes describe the distinct text of the branches of
	// Many.
	DistinctDocuments int
	DistinctBytes     int64
	Branches          struct{ Sixty, Many, Thousands int }
	Repository        string
}

// ErrNoHistory means that the corpora contain no history from which to create branches.
var ErrNoHistory = errors.New("the corpora have no history; build them with searchbench corpora")

type branchMeasurement struct {
	BranchOptions
	figures BranchFigures
	source  string
}

// MeasureBranches creates the repositories and imports them in turn.
func MeasureBranches(ctx context.Context, o BranchOptions) (*BranchFigures, error) {
	o.ensureDefaults()
	m := &branchMeasurement{BranchOptions: o}
	m.figures.Branches.Sixty, m.figures.Branches.Many, m.figures.Branches.Thousands = o.Sixty, o.Many, o.Thousands
	histories := o.Manifest.Set(historySet)
	if len(histories) == 0 {
		return &m.figures, ErrNoHistory
	}
	m.figures.Repository, m.source = histories[0].Name, corpus.GitPath(o.Corpora, histories[0].Name)
	if err := os.RemoveAll(o.Work); err != nil {
		return &m.figures, err
	}
	defer os.RemoveAll(o.Work)
	if err := m.prepareRepositories(ctx); err != nil {
		return &m.figures, err
	}
	return &m.figures, m.measureImports(ctx)
}

func (m *branchMeasurement) repositoryDir(name string) string {
	return filepath.Join(m.Work, "git", name+".git")
}

// prepareRepositories creates the repositories.
func (m *branchMeasurement) prepareRepositories(ctx context.Context) error {
	for _, n := range []int{m.Sixty, m.Many, m.Thousands} {
		if _, err := corpus.AddBranches(ctx, m.source, m.repositoryDir(strconv.Itoa(n)), n); err != nil {
			return err
		}
	}
	for i := range clones {
		distinct, err := corpus.CollectText(ctx, m.repositoryDir(strconv.Itoa(m.Many)), m.repositoryDir(cloneName(i)))
		if err != nil {
			return err
		}
		m.figures.DistinctDocuments, m.figures.DistinctBytes = distinct.Files, distinct.Bytes
	}
	return nil
}

// cloneName returns the name of the i-th repository with the distinct text.
func cloneName(i int) string { return fmt.Sprintf("text-%d", i) }

// everyBranch is the flag that selects every branch.
var everyBranch = []string{"--branch", "**"}

// measureImports runs the experiments in turn.
func (m *branchMeasurement) measureImports(ctx context.Context) error {
	sixty, many, thousands := strconv.Itoa(m.Sixty), strconv.Itoa(m.Many), strconv.Itoa(m.Thousands)
	cloned := map[string]string{}
	for i := range clones {
		cloned[cloneName(i)] = m.repositoryDir(cloneName(i))
	}
	experiments := []struct {
		name         string
		figure       *Import
		repositories map[string]string
		flags        []string
		rounds       int
	}{
		{sixty + " branches", &m.figures.Sixty, map[string]string{"sixty": m.repositoryDir(sixty)}, everyBranch, m.Rounds},
		{many + " branches", &m.figures.Many, map[string]string{"many": m.repositoryDir(many)}, everyBranch, m.Rounds},
		{"distinct text", &m.figures.Text, map[string]string{cloneName(0): m.repositoryDir(cloneName(0))}, nil, m.Rounds},
		{thousands + " branches", &m.figures.Thousands, map[string]string{"thousands": m.repositoryDir(thousands)}, everyBranch, 1},
		{"three clones", &m.figures.Clones, cloned, nil, 1},
	}
	runs := make([][]Import, len(experiments))
	var zoekt []time.Duration
	for round := range m.Rounds {
		if m.Zoekt != nil {
			took, err := m.importZoekt(ctx, m.repositoryDir(sixty))
			if err != nil {
				return err
			}
			m.Log("branches: zoekt, %s branches: %s", sixty, took)
			zoekt = append(zoekt, took)
		}
		for i, e := range experiments {
			if round >= e.rounds {
				continue
			}
			run, err := m.importQuarry(ctx, e.repositories, e.flags, round == e.rounds-1)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			m.Log("branches: %s: %+v", e.name, run)
			runs[i] = append(runs[i], run)
		}
	}
	for i, e := range experiments {
		*e.figure = medianImport(runs[i])
	}
	if len(zoekt) > 0 {
		slices.Sort(zoekt)
		m.figures.Zoekt = zoekt[len(zoekt)/2]
	}
	return nil
}

// medianImport returns the run with the median time. It combines that run with the
// highest peak of all runs and with the counts that only the last run has.
func medianImport(runs []Import) Import {
	last := runs[len(runs)-1]
	sorted := slices.SortedFunc(slices.Values(runs), func(a, b Import) int { return int(a.Wall - b.Wall) })
	out := sorted[len(sorted)/2]
	out.Dropped, out.RowBytes = last.Dropped, last.RowBytes
	for _, r := range runs {
		out.PeakBytes = max(out.PeakBytes, r.PeakBytes)
	}
	return out
}

// importZoekt indexes all branches of a repository.
func (m *branchMeasurement) importZoekt(ctx context.Context, repository string) (time.Duration, error) {
	index := filepath.Join(m.Work, "zoekt")
	defer os.RemoveAll(index)
	usage, err := m.Zoekt.IndexBranches(ctx, index, []string{corpus.Branch, "b*", "topic/*"}, repository)
	return usage.Wall, err
}

// importQuarry imports repositories into an empty server. If settle is set, it waits for
// the merges, and counts the dropped documents and the rows.
func (m *branchMeasurement) importQuarry(ctx context.Context, repositories map[string]string, flags []string, settle bool) (run Import, err error) {
	data := filepath.Join(m.Work, "data")
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	if err := os.MkdirAll(data, 0o700); err != nil {
		return run, err
	}
	server, err := m.Quarry.Serve(ctx, data, []string{filepath.Join(m.Work, "git")})
	if err != nil {
		return run, err
	}
	before, err := server.Metrics(ctx)
	if err == nil {
		run.Wall, err = server.Index(ctx, repositories, flags...)
	}
	if err == nil && settle {
		_, err = server.Settle(ctx, cmp.Or(m.SettleTime, engine.SettleTime))
	}
	var after map[string]float64
	if err == nil {
		after, err = server.Metrics(ctx)
	}
	run.PeakBytes = server.Usage().PeakBytes
	if err = errors.Join(err, server.Stop()); err != nil {
		return run, err
	}
	since := func(name string) float64 { return after[name] - before[name] }
	run.Documents, run.TextBytes = since("quarry_indexer_documents_total"), since("quarry_indexer_text_bytes_total")
	run.Dropped, run.LogBytes = since("quarry_compactor_dropped_documents_total"), since("quarry_embeddedlog_appended_bytes_total")
	if settle {
		run.RowBytes, err = placesBytes(filepath.Join(data, "projections"))
	}
	return run, err
}

// placesBytes returns the size of the keys and values in the projection of places. No
// process may use the directory.
func placesBytes(dir string) (bytes float64, err error) {
	home, err := projections.OpenHome(dir)
	if err != nil {
		return 0, err
	}
	current, err := home.Current()
	if err != nil {
		return 0, err
	}
	s, err := store.Open(current, store.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	family := []byte{byte(store.FamilyPlaces)}
	rows, err := s.Iter(family, store.Successor(family))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for ok := rows.First(); ok; ok = rows.Next() {
		bytes += float64(len(rows.Key()) + len(rows.Value()))
	}
	return bytes, rows.Err()
}
