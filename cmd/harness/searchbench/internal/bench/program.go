package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// program is one of the compared programs, on its own index.
type program interface {
	// Import builds the index from nothing, one set of repositories after the other. Start
	// serves what Import built.
	Import(ctx context.Context, sets []importSet) ([]importFigure, error)
	Start(ctx context.Context, repositories int) error
	// Launch starts a server without waiting until it is ready.
	Launch() (s engine.Searcher, stop func() error, err error)
	// Searchers returns the engines of the program, of which the faster one counts.
	Searchers() []engine.Searcher
	Translate(q suite.Query) engine.Request
	// Push makes a commit of a repository searchable, after the clone has it.
	Push(ctx context.Context, repository string, p corpus.Push) error
	Usage() (memory proc.Memory, cpu time.Duration)
	// Index returns the folder of the index, and the folders below it that are not a part
	// of it.
	Index() (dir string, without []string)
	Stop() error
}

// importSet is a set of repositories (name → bare repository) that are imported together.
type importSet struct {
	name         string
	repositories map[string]string
	textBytes    int64
}

// importFigure is one import of a set.
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

func (p *quarryProgram) Import(ctx context.Context, sets []importSet) (figures []importFigure, err error) {
	if err := os.RemoveAll(p.data); err != nil {
		return nil, err
	}
	if err := p.Start(ctx, 0); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	cpu := time.Duration(0)
	for i, set := range sets {
		if i > 0 { // merges of the set before are not a part of this import
			if _, err := p.server.Settle(ctx, p.settle); err != nil {
				return figures, err
			}
			p.server.ResetPeak()
			cpu = p.server.CPU()
		}
		wall, err := p.server.Index(ctx, set.repositories)
		if err != nil {
			return figures, err
		}
		figures = append(figures, importFigure{Wall: wall, CPU: p.server.CPU() - cpu, PeakBytes: p.server.Usage().PeakBytes})
	}
	return figures, nil
}

// Start waits until merges have ended, which are a part of the state to measure.
func (p *quarryProgram) Start(ctx context.Context, repositories int) (err error) {
	if p.server, err = p.binary.Serve(ctx, p.data, p.roots); err != nil || repositories == 0 {
		return err
	}
	_, err = p.server.Settle(ctx, p.settle)
	return err
}

func (p *quarryProgram) Launch() (engine.Searcher, func() error, error) {
	s, err := p.binary.Launch(p.data, p.roots)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Stop, nil
}

func (p *quarryProgram) Searchers() []engine.Searcher           { return []engine.Searcher{p.server} }
func (p *quarryProgram) Translate(q suite.Query) engine.Request { return engine.QuarryRequest(q) }

func (p *quarryProgram) Push(ctx context.Context, repository string, c corpus.Push) error {
	return p.server.Push(ctx, repository, "refs/heads/"+corpus.Branch, c.Before, c.Commit)
}

func (p *quarryProgram) Usage() (proc.Memory, time.Duration) {
	return p.server.Memory(), p.server.CPU()
}

// Index leaves out mirrors, which are copies of what the host has.
func (p *quarryProgram) Index() (string, []string) {
	return p.data, []string{filepath.Join(p.data, "mirrors")}
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

func (p *zoektProgram) Import(ctx context.Context, sets []importSet) (figures []importFigure, err error) {
	if err := os.RemoveAll(p.index); err != nil {
		return nil, err
	}
	for _, set := range sets {
		usage, err := p.binaries.Index(ctx, p.index, false, slices.Sorted(maps.Values(set.repositories))...)
		if err != nil {
			return figures, err
		}
		figures = append(figures, importFigure{Wall: usage.Wall, CPU: usage.UserTime + usage.SystemTime, PeakBytes: usage.PeakBytes})
	}
	return figures, nil
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

func (p *zoektProgram) Launch() (engine.Searcher, func() error, error) {
	s, err := p.binaries.Launch(p.index, false)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Stop, nil
}

func (p *zoektProgram) Searchers() (all []engine.Searcher) {
	for _, s := range p.servers {
		all = append(all, s)
	}
	return all
}

func (p *zoektProgram) Translate(q suite.Query) engine.Request { return engine.ZoektRequest(q) }

// Push indexes in delta mode, since zoekt receives no webhooks.
func (p *zoektProgram) Push(ctx context.Context, _ string, _ corpus.Push) error {
	_, err := p.binaries.Index(ctx, p.index, true, p.clone)
	return err
}

// Usage is that of the server with the default engine.
func (p *zoektProgram) Usage() (proc.Memory, time.Duration) {
	return p.servers[0].Memory(), p.servers[0].CPU()
}

func (p *zoektProgram) Index() (string, []string) { return p.index, nil }

func (p *zoektProgram) Stop() error {
	var all []error
	for _, s := range p.servers {
		all = append(all, s.Stop())
	}
	p.servers = nil
	return errors.Join(all...)
}

// diskBytes returns the disk usage of an index.
func diskBytes(p program) (int64, error) {
	dir, without := p.Index()
	return proc.DiskBytes(dir, without...)
}

// serverOf returns the running server of a build of Quarry, or nil.
func serverOf(p program) *engine.QuarryServer {
	switch p := p.(type) {
	case *quarryProgram:
		return p.server
	case *agedProgram:
		return p.server
	}
	return nil
}
