package bench

import (
	"fmt"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
)

func (b *bench) importRows(zoekt, quarry *figures) []report.Row {
	row := func(set, label string, goal float64) report.Row {
		z, q := zoekt.imports[set], quarry.imports[set]
		figure := fmt.Sprintf("import %s (%.0f MB of text) with symbols, from git", label, float64(b.textBytes(set))/1e6)
		return compareRow(report.Row{Figure: figure, Zoekt: z.String(), Quarry: q.String(), Reach: fmt.Sprintf("≥ %.1f × faster", goal)}, z.Wall.Seconds(), q.Wall.Seconds(), goal)
	}
	peakZ, peakQ := zoekt.imports["linux"].PeakBytes, quarry.imports["linux"].PeakBytes
	return []report.Row{
		row("linux", "Linux", goalLinuxFactor),
		compareBound(report.Row{
			Figure: "peak memory of that import, children included", Zoekt: sizeOrNothing(peakZ), Quarry: sizeOrNothing(peakQ), Reach: "≤ " + report.MiB(goalLinuxPeak),
		}, float64(peakZ), float64(peakQ), goalLinuxPeak),
		row("mixed", fmt.Sprintf("the mixed set, %d repositories", len(b.manifest.Set("mixed"))), goalMixedFactor),
	}
}

func sizeOrNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return report.MiB(n)
}

func (b *bench) sizeRows(zoekt, quarry *figures) []report.Row {
	text := float64(b.allTextBytes())
	perText := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f (%s)", float64(n)/text, report.MiB(n))
	}
	memory := func(m memoryFigure) string {
		if m.ResidentBytes == 0 {
			return ""
		}
		return fmt.Sprintf("%s, of it %s anonymous", report.MiB(m.ResidentBytes), report.MiB(m.AnonymousBytes))
	}
	return []report.Row{
		compareBound(report.Row{
			Figure: "bytes on disk ÷ bytes of text, everything needed to search (git mirrors apart)",
			Zoekt:  perText(zoekt.diskBytes), Quarry: perText(quarry.diskBytes), Reach: fmt.Sprintf("≤ %.2f", goalDiskPerText),
		}, float64(zoekt.diskBytes), float64(quarry.diskBytes), goalDiskPerText*text),
		compareBound(report.Row{
			Figure: fmt.Sprintf("memory of the server after the query suite over %.2f GB of text", text/1e9),
			Zoekt:  memory(zoekt.memory), Quarry: memory(quarry.memory), Reach: "≤ " + report.MiB(goalMemory),
		}, float64(zoekt.memory.ResidentBytes), float64(quarry.memory.ResidentBytes), goalMemory),
	}
}

// coreRow compares megabytes per second of CPU time: more is better.
func (b *bench) coreRow(zoekt, quarry *coreFigure) report.Row {
	row := report.Row{
		Figure: fmt.Sprintf("index core of the set %s (trigrams, frames, symbols; no git, no languages): text per second of processor time", b.coreSet()),
		Reach:  fmt.Sprintf("≥ %.0f ×", goalCoreFactor),
	}
	z, q := zoekt.megabytesPerCPUSecond(), quarry.megabytesPerCPUSecond()
	if z > 0 {
		row.Zoekt = fmt.Sprintf("%.1f MB, %.1f s of the %.1f s of its profile", z, zoekt.CPU.Seconds(), zoekt.AllCPU.Seconds())
	}
	if q > 0 {
		row.Quarry = fmt.Sprintf("%.1f MB, %.1f s", q, quarry.CPU.Seconds())
	}
	return compareRates(row, z, q, goalCoreFactor)
}

func coldRow(zoekt, quarry *coldFigure) report.Row {
	row := report.Row{Figure: "cold start, files out of the page cache → first right answer", Reach: reachFactor(goalColdFactor)}
	describe := func(f *coldFigure) string {
		if f == nil {
			return ""
		}
		return fmt.Sprintf("%s, median of %d", report.Milliseconds(f.medianStart()), len(f.Starts))
	}
	if quarry != nil {
		row.Figure += fmt.Sprintf(" (`%s`; files dropped by %s)", quarry.Query, quarry.Dropped.Method)
	}
	row.Zoekt, row.Quarry = describe(zoekt), describe(quarry)
	return compareRow(row, float64(zoekt.medianStart()), float64(quarry.medianStart()), goalColdFactor)
}
