package bench

import "time"

// figures holds the measurements of one program. Zero values mean not measured.
type figures struct {
	imports   map[string]importFigure // by set
	diskBytes int64                   // everything that a search needs
	memory    memoryFigure
	core      *coreFigure
	cold      *coldFigure
	plain     answers  // of the server with default settings
	re2       answers  // of zoekt's opt-in engine
	capped    []timing // zoekt with a cap per shard, the faster of its two engines
	pushes    []pushFigure
	streams   []streamFigure // Quarry only
	// normalPush is zoekt's push without delta mode.
	normalPush *pushFigure
}

// bestSuite and bestScans return the better timing of the two engines, query by query.
func (f *figures) bestSuite() []timing { return fasterTimings(f.plain.suite, f.re2.suite) }
func (f *figures) bestScans() []timing { return fasterTimings(f.plain.scans, f.re2.scans) }

// importFigure is one import of a set.
type importFigure struct {
	Wall      time.Duration `json:"wall"`
	PeakBytes int64         `json:"peakBytes"`
	TextBytes int64         `json:"textBytes"`
}

type memoryFigure struct {
	ResidentBytes  int64 `json:"residentBytes"`
	AnonymousBytes int64 `json:"anonymousBytes"`
}

type loadFigure struct {
	Queries int           `json:"queries"`
	Errors  int           `json:"errors"`
	Wall    time.Duration `json:"wall"`
	P50     time.Duration `json:"p50"`
	P99     time.Duration `json:"p99"`
}

func (f loadFigure) perSecond() float64 { return float64(f.Queries) / f.Wall.Seconds() }

// pushFigure is one push of one file.
type pushFigure struct {
	// Indexed is the wall time of zoekt-git-index; zero for Quarry.
	Indexed time.Duration `json:"indexed"`
	// Searchable is the time until the new word is found, from the delivery of the
	// webhook (Quarry) or the start of zoekt-git-index.
	Searchable time.Duration `json:"searchable"`
}
