package growth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
)

// stage is one size of an experiment: a data directory and its measurements.
type stage struct {
	name         string
	data         string
	repositories int
	textBytes    int64

	server *engine.QuarryServer
	// answers holds the times of each query, in the order of the kinds.
	answers [][][]time.Duration
	starts  []time.Duration
	cold    []time.Duration
	state   serverState
}

// serverState is the state that a settled server reports.
type serverState struct {
	residentBytes, anonymousBytes int64
	diskBytes                     int64
	segments, tables              float64
	metrics                       map[string]float64
}

const (
	// startTimeout bounds the time from a ready server to its first correct answer.
	startTimeout = time.Minute
)

// startServer starts the server of a stage.
func (g *growth) startServer(ctx context.Context, s *stage) (err error) {
	s.server, err = g.Quarry.Serve(ctx, s.data, []string{g.repositoriesDir()})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// stopServer stops the server of a stage, if it is running.
func (g *growth) stopServer(s *stage) {
	if s.server == nil {
		return
	}
	if err := s.server.Stop(); err != nil {
		g.Log("%s: quarry serve did not end well: %v", s.name, err)
	}
	s.server = nil
}

// waitSettled waits until merges have ended.
func (g *growth) waitSettled(ctx context.Context, s *stage) error {
	settled, err := s.server.Settle(ctx, g.SettleTime)
	if err == nil && !settled {
		g.Log("%s: still merging", s.name)
	}
	return err
}

// readState reads the state that the server reports.
func (g *growth) readState(ctx context.Context, s *stage) error {
	m, err := s.server.Metrics(ctx)
	if err != nil {
		return err
	}
	memory := s.server.Memory()
	disk, err := machine.DiskBytes(s.data, filepath.Join(s.data, "mirrors"))
	s.state = serverState{
		residentBytes: memory.ResidentBytes, anonymousBytes: memory.AnonymousBytes, diskBytes: disk,
		segments: m["quarry_places_segments"], tables: m["quarry_store_tables"], metrics: m,
	}
	return err
}

// askAll sends every query rounds times to all stages, in turn.
func (g *growth) askAll(ctx context.Context, kinds []questionKind, stages []*stage, rounds int) error {
	for _, s := range stages {
		s.answers = make([][][]time.Duration, len(kinds))
		for k := range kinds {
			s.answers[k] = make([][]time.Duration, len(kinds[k].requests))
		}
	}
	for round := range rounds + 1 {
		for k := range kinds {
			for i, request := range kinds[k].requests {
				for _, s := range stages {
					answer, err := s.server.Search(ctx, request)
					if err != nil {
						return fmt.Errorf("%s: %s: %w", s.name, request.Text, err)
					}
					if round > 0 { // the first round warms up
						s.answers[k][i] = append(s.answers[k][i], answer.Elapsed)
					}
				}
			}
		}
	}
	return nil
}

// geometricMean returns the geometric mean of the medians of a kind.
func (s *stage) geometricMean(k int) time.Duration {
	var medians []time.Duration
	for _, times := range s.answers[k] {
		medians = append(medians, stat.Median(times))
	}
	return stat.GeometricMean(medians)
}

// measureStart kills the server of a stage and measures the time from the start of the
// next process to its first correct answer.
func (g *growth) measureStart(ctx context.Context, s *stage, question engine.Request, cold bool) error {
	if s.server != nil {
		s.server.Kill()
		s.server = nil
	}
	if cold {
		if _, err := machine.DropFiles(s.data); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := g.startServer(ctx, s); err != nil {
		return err
	}
	for {
		answer, err := s.server.Search(ctx, question)
		if err == nil && answer.Matches > 0 {
			break
		}
		if time.Since(began) > startTimeout {
			return errors.Join(fmt.Errorf("%s: no right answer within %s", s.name, startTimeout), err)
		}
	}
	if took := time.Since(began); cold {
		s.cold = append(s.cold, took)
	} else {
		s.starts = append(s.starts, took)
	}
	return nil
}

// copyData copies the data directory of a stopped server, so that it can be used later.
func copyData(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}
