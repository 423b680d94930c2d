package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/logcopy"
	"github.com/quarrysearch/quarry/pipeline/repartition"
	"github.com/quarrysearch/quarry/projections"
)

// Repartition moves a stopped installation to a log with another number of partitions, that
// of copying.To. It writes the state of the projections as a new log below the directory for
// temporary files, and its segments to the segment store; it applies that log to new
// projections, compares them, and copies the log to the target. Then the new projections
// take the place of the others. progress is called with a step and its progress.
func Repartition(ctx context.Context, o Options, copying logdriver.CopyOptions, progress func(step string, done, total int64)) (result repartition.Result, partitions []logcopy.Partition, err error) {
	s := newServer(o)
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, step := range []func(context.Context) error{s.openDirectory, s.openStores} {
		if err := step(ctx); err != nil {
			return result, nil, err
		}
	}
	home, err := projections.OpenHome(o.Config.ProjectionsDir())
	if err != nil {
		return result, nil, err
	}
	source, err := repartition.Open(ctx, repartition.SourceOptions{
		Home: home, Log: s.log, Objects: s.segments, PartitionOf: s.versionsOptions(home).PartitionOf, Logger: o.Logger,
	})
	if err != nil {
		return result, nil, err
	}
	closeSource := source.Close
	defer func() { err = errors.Join(err, closeSource(), home.Clean()) }()
	dir := filepath.Join(o.Config.TempDir(), "repartition")
	err = os.RemoveAll(dir) // what was left by a process that died
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return result, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	events, err := embeddedlog.Open(filepath.Join(dir, "log"), embeddedlog.Options{
		Partitions: int32(copying.To.Log.Partitions), MinFreeBytes: uint64(o.Config.Storage.MinFreeBytes), Logger: o.Logger,
	})
	if err != nil {
		return result, nil, err
	}
	defer func() { err = errors.Join(err, events.Close()) }()
	next := ""
	partitions, err = logdriver.Repartition(ctx, copying, s.log, events, func() error {
		if copying.DryRun {
			return nil
		}
		result, err = source.Write(ctx, repartition.Options{
			Log: events, TempDir: dir, SegmentBytes: int64(o.Config.Pipeline.SegmentBytes),
			Progress: func(done, total int) { progress("repositories written", int64(done), int64(total)) },
		})
		if err != nil {
			return fmt.Errorf("write the state: %w", err)
		}
		next, err = source.Build(ctx, events, func(done, total int64) { progress("records applied", done, total) })
		return err
	})
	if err != nil || next == "" {
		return result, partitions, err
	}
	if err := source.ForgetOldLog(ctx, s.versionsOptions(home).Snapshots); err != nil {
		return result, partitions, fmt.Errorf("the projections are still those of the old log: %w", err)
	}
	err = source.Close()
	closeSource = func() error { return nil }
	if err == nil {
		err = home.Switch(next)
	}
	if err == nil {
		err = home.DropPrevious()
	}
	if err != nil {
		return result, partitions, fmt.Errorf("the new log is complete, but not the projections; empty %s before the next start: %w", home.Dir(), err)
	}
	return result, partitions, nil
}
