package bench

import (
	"context"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

func (b *bench) quarryData() string { return filepath.Join(b.Work, "quarry-data") }

// roots are the folders quarry may read repositories from.
func (b *bench) roots() []string {
	return []string{filepath.Join(b.Corpora, "git"), filepath.Dir(b.linuxClone("quarry"))}
}

func (b *bench) serveQuarry(ctx context.Context) (*engine.QuarryServer, error) {
	return b.Quarry.Serve(ctx, b.quarryData(), b.roots())
}

// measureQuarry runs everything on one server, restarted after the imports so that the query suite meets a server in its ordinary state, as
// zoekt's does.
func (b *bench) measureQuarry(ctx context.Context) *figures {
	f := &figures{}
	var err error
	if f.imports, err = b.importQuarry(ctx); err != nil {
		b.missing("%v", err)
		return f
	}
	if b.does(StepCore) {
		f.core = step(b, "quarry's core of indexing", b.quarryLedger, "core/"+b.coreSet(), func() (coreFigure, error) { return b.coreQuarry(ctx) })
	}
	if b.does(StepCold) {
		f.cold = step(b, "quarry's cold start", b.quarryLedger, "cold", func() (coldFigure, error) { return b.coldQuarry(ctx) })
	}
	server, err := b.serveQuarry(ctx)
	if err != nil {
		b.missing("%v", err)
		return f
	}
	defer b.stop("quarry serve", server.Stop)
	b.askQuarry(ctx, f, server)
	return f
}

func (b *bench) askQuarry(ctx context.Context, f *figures, server *engine.QuarryServer) {
	s := &source{name: "quarry", searcher: server, word: forQuarry, ledger: b.quarryLedger}
	var err error
	if b.does(StepSuite) {
		f.plain.suite = b.askAll(ctx, s, "suite", b.Queries, b.Runs)
		m := server.Memory()
		f.memory = memoryFigure{m.ResidentBytes, m.AnonymousBytes}
		if f.diskBytes, err = diskBytes(b.quarryData(), filepath.Join(b.quarryData(), "mirrors")); err != nil {
			b.missing("quarry's bytes on disk: %v", err)
		}
	}
	if b.does(StepClasses) {
		f.plain.extra = b.askAll(ctx, s, "extra", b.Extra, b.ExtraRuns)
	}
	if b.does(StepLoad) {
		b.askLoads(ctx, s, &f.plain)
	}
	if b.does(StepStable) {
		f.plain.stable = b.askStable(ctx, s)
	}
	if b.does(StepStream) {
		f.streams = b.askStreams(ctx, server, s.word)
	}
	if b.does(StepScans) {
		f.plain.scans = b.askAll(ctx, s, "scan", b.Scans, b.Runs)
	}
	if b.does(StepPushes) {
		if f.pushes, err = b.pushQuarry(ctx, server); err != nil {
			b.missing("quarry's pushes: %v", err)
		}
	}
}
