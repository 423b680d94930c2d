package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// program is one of the compared programs, on its own index of the corpora.
type program interface {
	// Import builds the index from nothing. Start serves what Import built.
	Import(ctx context.Context, repositories map[string]string) (importFigure, error)
	Start(ctx context.Context, repositories int) error
	// Searchers returns the engines of the program, of which the faster one counts.
	Searchers() []engine.Searcher
	Translate(q suite.Query) engine.Request
	// Push makes a commit of the repository linux searchable, after the clone has it.
	Push(ctx context.Context, p corpus.Push) error
	Usage() (memory proc.Memory, cpu time.Duration)
	DiskBytes() (int64, error)
	Stop() error
}

// importFigure is one import of all repositories.
type importFigure struct {
	Wall, CPU time.Duration
	PeakBytes int64
}

// quarryProgram is a build of Quarry.
type quarryProgram struct {
	binary *engine.Quarry
	data   string
	roots  []string // folders from which the server may read repositories
	settle time.Duration
	server *engine.QuarryServer
}

func (p *quarryProgram) Import(ctx context.Context, repositories map[string]string) (importFigure, error) {
	if err := os.RemoveAll(p.data); err != nil {
		return importFigure{}, err
	}
	if err := p.Start(ctx, 0); err != nil {
		return importFigure{}, err
	}
	wall, err := p.server.Index(ctx, repositories)
	f := importFigure{Wall: wall, CPU: p.server.CPU(), PeakBytes: p.server.Usage().PeakBytes}
	return f, errors.Join(err, p.Stop())
}

// Start waits until merges have ended, which are a part of the state to measure.
func (p *quarryProgram) Start(ctx context.Context, repositories int) (err error) {
	if p.server, err = p.binary.Serve(ctx, p.data, p.roots); err != nil || repositories == 0 {
		return err
	}
	_, err = p.server.Settle(ctx, p.settle)
	return err
}

func (p *quarryProgram) Searchers() []engine.Searcher           { return []engine.Searcher{p.server} }
func (p *quarryProgram) Translate(q suite.Query) engine.Request { return engine.QuarryRequest(q) }

func (p *quarryProgram) Push(ctx context.Context, c corpus.Push) error {
	return p.server.Push(ctx, pushed, "refs/heads/"+corpus.Branch, c.Before, c.Commit)
}

func (p *quarryProgram) Usage() (proc.Memory, time.Duration) {
	return p.server.Memory(), p.server.CPU()
}

// DiskBytes leaves out mirrors, which are copies of what the host has.
func (p *quarryProgram) DiskBytes() (int64, error) {
	return machine.DiskBytes(p.data, filepath.Join(p.data, "mirrors"))
}

func (p *quarryProgram) Stop() error {
	if p.server == nil {
		return nil
	}
	err := p.server.Stop()
	p.server = nil
	return err
}

// zoektProgram is zoekt with its default engine and with its opt-in RE2 engine.
type zoektProgram struct {
	binaries *engine.Zoekt
	index    string
	clone    string // the repository that receives pushes
	servers  []*engine.ZoektServer
}

func (p *zoektProgram) Import(ctx context.Context, repositories map[string]string) (importFigure, error) {
	if err := os.RemoveAll(p.index); err != nil {
		return importFigure{}, err
	}
	usage, err := p.binaries.Index(ctx, p.index, false, slices.Sorted(maps.Values(repositories))...)
	return importFigure{Wall: usage.Wall, CPU: usage.UserTime + usage.SystemTime, PeakBytes: usage.PeakBytes}, err
}

func (p *zoektProgram) Start(ctx context.Context, repositories int) error {
	for _, re2 := range []bool{false, true} {
		s, err := p.binaries.Serve(ctx, p.index, repositories, re2)
		if err != nil {
			return fmt.Errorf("zoekt (RE2 %v): %w", re2, err)
		}
		p.servers = append(p.servers, s)
	}
	return nil
}

func (p *zoektProgram) Searchers() (all []engine.Searcher) {
	for _, s := range p.servers {
		all = append(all, s)
	}
	return all
}

func (p *zoektProgram) Translate(q suite.Query) engine.Request { return engine.ZoektRequest(q) }

// Push indexes in delta mode, since zoekt receives no webhooks.
func (p *zoektProgram) Push(ctx context.Context, _ corpus.Push) error {
	_, err := p.binaries.Index(ctx, p.index, true, p.clone)
	return err
}

// Usage is that of the server with the default engine.
func (p *zoektProgram) Usage() (proc.Memory, time.Duration) {
	return p.servers[0].Memory(), p.servers[0].CPU()
}

func (p *zoektProgram) DiskBytes() (int64, error) { return machine.DiskBytes(p.index) }

func (p *zoektProgram) Stop() error {
	var all []error
	for _, s := range p.servers {
		all = append(all, s.Stop())
	}
	p.servers = nil
	return errors.Join(all...)
}
