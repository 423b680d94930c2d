package bench

import (
	"context"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
)

func (b *bench) quarryData() string { return filepath.Join(b.Work, "quarry-data") }

// allowedRoots returns the folders from which Quarry may read repositories.
func (b *bench) allowedRoots() []string {
	return []string{filepath.Join(b.Corpora, "git"), filepath.Dir(b.linuxClone("quarry"))}
}

func (b *bench) serveQuarry(ctx context.Context) (*engine.QuarryServer, error) {
	return b.Quarry.Serve(ctx, b.quarryData(), b.allowedRoots())
}

// measureQuarry runs all steps on one server. It restarts the server after the imports,
// so that the query suite meets a server in its ordinary state, as with zoekt.
func (b *bench) measureQuarry(ctx context.Context) *figures {
	f := &figures{}
	var err error
	if f.imports, err = b.importQuarry(ctx); err != nil {
		b.noteMissing("%v", err)
		return f
	}
	if b.takesStep(StepCore) {
		f.core = measureStep(b, "quarry's core of indexing", b.quarryLedger, "core/"+b.coreSet(), func() (coreFigure, error) { return b.coreQuarry(ctx) })
	}
	if b.takesStep(StepCold) {
		f.cold = measureStep(b, "quarry's cold start", b.quarryLedger, "cold", func() (coldFigure, error) { return b.coldQuarry(ctx) })
	}
	server, err := b.serveQuarry(ctx)
	if err != nil {
		b.noteMissing("%v", err)
		return f
	}
	defer b.stopServer("quarry serve", server.Stop)
	b.askQuarry(ctx, f, server)
	return f
}

func (b *bench) askQuarry(ctx context.Context, f *figures, server *engine.QuarryServer) {
	s := &source{name: "quarry", searcher: server, translate: engine.QuarryRequest, ledger: b.quarryLedger}
	var err error
	if b.takesStep(StepSuite) {
		f.plain.suite = b.askAll(ctx, s, "suite", b.Queries, b.Runs)
		m := server.Memory()
		f.memory = memoryFigure{m.ResidentBytes, m.AnonymousBytes}
		if f.diskBytes, err = machine.DiskBytes(b.quarryData(), filepath.Join(b.quarryData(), "mirrors")); err != nil {
			b.noteMissing("quarry's bytes on disk: %v", err)
		}
	}
	if b.takesStep(StepClasses) {
		f.plain.extra = b.askAll(ctx, s, "extra", b.Extra, b.ExtraRuns)
	}
	if b.takesStep(StepLoad) {
		b.askLoads(ctx, s, &f.plain)
	}
	if b.takesStep(StepStable) {
		f.plain.stable = b.askStable(ctx, s)
	}
	if b.takesStep(StepStream) {
		f.streams = b.askStreams(ctx, server, s.translate)
	}
	if b.takesStep(StepScans) {
		f.plain.scans = b.askAll(ctx, s, "scan", b.Scans, b.Runs)
	}
	if b.takesStep(StepPushes) {
		if f.pushes, err = b.pushQuarry(ctx, server); err != nil {
			b.noteMissing("quarry's pushes: %v", err)
		}
	}
}
