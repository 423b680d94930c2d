package bench

import (
	"context"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
)

// measureZoekt runs all steps on zoekt, with two servers over one index, one after the
// other.
func (b *bench) measureZoekt(ctx context.Context) *figures {
	f := &figures{}
	var err error
	if f.imports, err = b.importZoekt(ctx); err != nil {
		b.noteMissing("%v", err)
		return f
	}
	if b.takesStep(StepSuite) {
		if f.diskBytes, err = recallOrMeasure(b.zoektLedger, "disk", func() (int64, error) { return machine.DiskBytes(b.zoektIndex()) }); err != nil {
			b.noteMissing("zoekt's bytes on disk: %v", err)
		}
	}
	b.measureZoektOffline(ctx, f)
	b.askZoekt(ctx, f, true)
	b.askZoekt(ctx, f, false)
	return f
}

// measureZoektOffline runs the steps that need no running server.
func (b *bench) measureZoektOffline(ctx context.Context, f *figures) {
	if b.takesStep(StepCore) {
		f.core = measureStep(b, "zoekt's core of indexing", b.zoektLedger, "core/"+b.coreSet(), func() (coreFigure, error) { return b.coreZoekt(ctx) })
	}
	if b.takesStep(StepCold) {
		f.cold = measureStep(b, "zoekt's cold start", b.zoektLedger, "cold", func() (coldFigure, error) { return b.coldZoekt(ctx) })
	}
}

// askZoekt measures one of the two engines on a separate server. Pushes come last, on the server with its default settings.
func (b *bench) askZoekt(ctx context.Context, f *figures, re2 bool) {
	server := &lazyZoekt{start: func() (*engine.ZoektServer, error) {
		return b.Zoekt.Serve(ctx, b.zoektIndex(), len(b.chosenRepositories()), re2)
	}}
	defer b.stopServer("zoekt-webserver", server.stop)
	s, a := &source{name: "zoekt", searcher: server, translate: engine.ZoektRequest, ledger: b.zoektLedger}, &f.plain
	if re2 {
		s.name, a = "zoekt-re2", &f.re2
	}
	if b.takesStep(StepSuite) {
		a.suite = b.askAll(ctx, s, "suite", b.Queries, b.Runs)
		if !re2 {
			b.zoektMemory(f, server)
		}
		f.capped = fasterTimings(b.askCapped(ctx, s, server), f.capped)
	}
	if b.takesStep(StepClasses) {
		a.extra = b.askAll(ctx, s, "extra", b.Extra, b.ExtraRuns)
	}
	if b.takesStep(StepLoad) {
		b.askLoads(ctx, s, a)
	}
	if b.takesStep(StepStable) {
		a.stable = b.askStable(ctx, s)
	}
	if b.takesStep(StepScans) {
		a.scans = b.askAll(ctx, s, "scan", b.Scans, b.Runs)
	}
	if b.takesStep(StepPushes) && !re2 {
		if err := b.pushZoekt(ctx, server, f); err != nil {
			b.noteMissing("zoekt's pushes: %v", err)
		}
	}
}

// zoektMemory reads the memory after the suite on this server, or returns the value of an
// earlier run.
func (b *bench) zoektMemory(f *figures, server *lazyZoekt) {
	var err error
	f.memory, err = recallOrMeasure(b.zoektLedger, "memory/"+listKey(b.Queries), func() (memoryFigure, error) {
		if server.running == nil {
			return memoryFigure{}, errNotAsked
		}
		m := server.running.Memory()
		return memoryFigure{m.ResidentBytes, m.AnonymousBytes}, nil
	})
	if err != nil {
		b.noteMissing("zoekt's memory: %v", err)
	}
}

// askCapped runs the suite again with a cap per shard.
func (b *bench) askCapped(ctx context.Context, s *source, server *lazyZoekt) []timing {
	if b.SkipCapped {
		return nil
	}
	return b.askAll(ctx, &source{name: s.name, searcher: cappedZoekt{server}, translate: s.translate, ledger: s.ledger}, "capped", b.Queries, b.Runs)
}
