package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

//go:embed sizing.json
var sizingFigures []byte

// sizing is the content of sizing.json: what was measured, and what the table of docs/sizing.md
// assumes.
type sizing struct {
	Figures map[string]struct {
		Value        float64
		What, Source string
	}
	Assumptions struct {
		TextBytesPerRepository, RepositoriesPerPerson, SearchesPerPersonPerDay, PushesPerPersonPerDay float64
		WorkingHours, PeakFactor, Replicas                                                            float64
	}
	Machine struct {
		Processors, MemoryBytes, DiskBytes float64
	}
	Repositories []float64
}

const (
	// processorShare, heapShare and diskShare are the parts of a machine that are planned for
	// searches, for tables and places, and for the index. The rest is for everything else.
	processorShare, heapShare, diskShare = 0.6, 0.4, 0.7
	// measuredGigabytes is the text over which querySeconds was measured.
	measuredGigabytes = 1.22
	// minPartitions is the default of log.partitions.
	minPartitions = 4
)

// plan is what some number of repositories needs.
type plan struct {
	repositories, text, searches, pushes     float64 // searches and pushes are those of a second at the peak
	searchSeconds                            float64 // of processors, for one search
	byProcessors, byHeap, byDisk             float64 // query machines that each resource needs
	shards, replicas, partitions             float64
	index, heap, importHours, workers        float64
	logBytes, inodes, mirrorBytes, listBytes float64
	decides                                  string
}

// planFor computes the plan for some repositories.
func (s *sizing) planFor(repositories float64) plan {
	f := func(name string) float64 {
		figure, ok := s.Figures[name]
		if !ok {
			panic("sizing.json lacks " + name)
		}
		return figure.Value
	}
	a, m := s.Assumptions, s.Machine
	people := repositories / a.RepositoriesPerPerson
	perSecond := people / (a.WorkingHours * 3600) * a.PeakFactor
	p := plan{
		repositories: repositories, text: repositories * a.TextBytesPerRepository,
		searches: perSecond * a.SearchesPerPersonPerDay, pushes: perSecond * a.PushesPerPersonPerDay,
	}
	p.index, p.heap = p.text*f("indexBytesPerByte"), p.text*f("heapBytesPerByte")+repositories*f("heapBytesPerRepository")
	p.byDisk, p.byHeap = math.Ceil(p.index/(m.DiskBytes*diskShare)), math.Ceil(p.heap/(m.MemoryBytes*heapShare))
	p.shards = max(p.byDisk, p.byHeap)
	p.searchSeconds = f("querySeconds") + f("querySecondsPerGigabyte")*max(p.text/1e9-measuredGigabytes, 0)
	if p.shards > 1 {
		p.searchSeconds *= f("fanoutFactor")
		p.listBytes = repositories * f("listBytesPerRepository")
	}
	p.byProcessors = math.Ceil(p.searches * p.searchSeconds / (m.Processors * processorShare))
	p.byDisk, p.byHeap = p.byDisk*a.Replicas, p.byHeap*a.Replicas
	p.replicas = max(a.Replicas, math.Ceil(p.byProcessors/p.shards))
	p.partitions = max(minPartitions, math.Pow(2, math.Ceil(math.Log2(2*p.shards))))
	p.importHours = p.text / f("importBytesPerSecond") / 3600
	p.workers = p.pushes * f("pushSeconds")
	p.logBytes = people * a.PushesPerPersonPerDay * 250 * f("logBytesPerPush")
	p.inodes, p.mirrorBytes = repositories*f("mirrorInodes"), repositories*f("mirrorBytes")
	switch max(p.byProcessors, p.byHeap, p.byDisk, a.Replicas) {
	case a.Replicas:
		p.decides = "nothing: one is enough, and its replica"
	case p.byDisk:
		p.decides = "disk"
	case p.byHeap:
		p.decides = "heap"
	default:
		p.decides = "processors of searches over everything"
	}
	return p
}

// makeSizingTables returns the tables of docs/sizing.md.
func makeSizingTables() (string, error) {
	var s sizing
	if err := json.Unmarshal(sizingFigures, &s); err != nil {
		return "", fmt.Errorf("read sizing.json: %w", err)
	}
	var b strings.Builder
	b.WriteString("| Figure | Value | Measured |\n| --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(s.Figures)) {
		figure := s.Figures[name]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", figure.What, formatFigure(figure.Value), figure.Source)
	}
	var plans []plan
	b.WriteString("\n| Repositories |")
	for _, n := range s.Repositories {
		plans = append(plans, s.planFor(n))
		fmt.Fprintf(&b, " %s |", formatFigure(n))
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(plans)) + "\n")
	for _, row := range []struct {
		what string
		of   func(p plan) string
	}{
		{"text", func(p plan) string { return formatBytes(p.text) }},
		{"searches and pushes a second at the peak", func(p plan) string { return formatFigure(p.searches) + ", " + formatFigure(p.pushes) }},
		{"index on disk, once", func(p plan) string { return formatBytes(p.index) }},
		{"heap for tables and places, once", func(p plan) string { return formatBytes(p.heap) }},
		{"processor time of a search over everything", func(p plan) string { return formatFigure(p.searchSeconds) + " s" }},
		{"query machines for the disk, the heap, the searches", func(p plan) string {
			return fmt.Sprintf("%s, %s, %s", formatFigure(p.byDisk), formatFigure(p.byHeap), formatFigure(p.byProcessors))
		}},
		{"shards × replicas", func(p plan) string { return formatFigure(p.shards) + " × " + formatFigure(p.replicas) }},
		{"`log.partitions` at least", func(p plan) string { return formatFigure(p.partitions) }},
		{"first import, processor hours", func(p plan) string { return formatFigure(p.importHours) }},
		{"processors for pushes at the peak", func(p plan) string { return formatFigure(p.workers) }},
		{"log in a year of 250 days, one copy", func(p plan) string { return formatBytes(p.logBytes) }},
		{"mirrors besides objects: inodes, disk", func(p plan) string { return formatFigure(p.inodes) + ", " + formatBytes(p.mirrorBytes) }},
		{"list of repositories that new connections of a front transfer", func(p plan) string { return formatBytes(p.listBytes) }},
		{"**needs most machines**", func(p plan) string { return p.decides }},
	} {
		fmt.Fprintf(&b, "| %s |", row.what)
		for _, p := range plans {
			fmt.Fprintf(&b, " %s |", row.of(p))
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// formatBytes returns a size with two digits.
func formatBytes(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n >= unit.size {
			return formatFigure(n/unit.size) + " " + unit.name
		}
	}
	return formatFigure(n)
}

// formatFigure returns a number with two digits, or all those before the point, in groups.
func formatFigure(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.2g", n)
	}
	digits := fmt.Sprintf("%.0f", n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
