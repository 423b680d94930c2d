package search

import (
	"context"
	"time"
)

// Emit takes the files of a part of an answer, best first, and what the part
// counts: Matches, Files, Displayed and Duration. No files at all say that the
// search goes on. The files may be memory of the view. An error ends the search.
type Emit func(files []FileMatch, stats Stats) error

// Bounds of a part. It is sent when it has partBytes, or partInterval after the
// one before, or after the start: so a quick search has one part, in the order of
// Search, and many small segments make no storm. After partIdle without one the
// reader hears that the search goes on.
const (
	partBytes    = 128 << 10
	partInterval = 30 * time.Millisecond
	partIdle     = 5 * time.Second
)

// Stream is Search with the files given to emit in parts, as they are found, in
// the calling goroutine. The result has no files. All parts together have the
// files, matches and counts that Search would return; the order is that of Search
// within each part. While emit takes its time, the search goes on.
//
// Which file is found first depends on all that is in the index. So to a caller who may
// not see everything the parts are sent at the end, in the order of Search.
func (s *Searcher) Stream(ctx context.Context, view View, r Request, emit Emit) (*Result, error) {
	if !r.Related {
		return s.searchReadings(ctx, view, r, emit)
	}
	var emitted []fileID
	r.emitted = &emitted
	return s.searchReadings(ctx, view, r, func(files []FileMatch, stats Stats) error {
		for i := range files[:min(len(files), maxMatchesToRelate-len(emitted))] {
			emitted = append(emitted, keyOf(&files[i]))
		}
		return emit(files, stats)
	})
}

// streamParts answers while the work goes on.
func (a *resultBuilder) streamParts(ctx context.Context, work func(context.Context) error, emit Emit) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	p := streamWriter{resultBuilder: a, emit: emit, since: time.Now(), due: time.Now().Add(partInterval)}
	err := p.emitUntilDone(ctx, done)
	if err != nil {
		cancel()
		<-done // nothing of the run may outlive the view
		return err
	}
	cancel()
	a.completeResult()
	a.result.Files = nil
	return nil
}

// streamWriter emits the files of a result in parts. Those of its result are not emitted yet.
type streamWriter struct {
	*resultBuilder
	emit  Emit
	since time.Time // when the part before was sent
	due   time.Time // when this one may be sent although it is small
	sent  Stats     // counts of the parts before
	bytes int64     // that were left to the renderer when the part began
}

// emitUntilDone renders and emits what is found until done has a value, which it
// returns.
func (p *streamWriter) emitUntilDone(ctx context.Context, done chan error) error {
	p.bytes = p.renderer.bytesLeft
	timer := time.NewTimer(partIdle)
	defer timer.Stop()
	for {
		if len(p.result.Files) > 0 {
			timer.Reset(time.Until(p.due))
		} else {
			timer.Reset(partIdle)
		}
		select {
		case err := <-done:
			done <- err // for who waits for the end of the work
			if err == nil {
				err = p.emitRest(ctx)
			}
			return err
		case <-p.run.progress:
			if p.run.ordersByFile() {
				continue
			}
			if err := p.addHits(ctx, p.takeReady()); err != nil {
				return err
			}
		case <-timer.C:
			if err := p.flushOrKeepAlive(); err != nil {
				return err
			}
		}
	}
}

// emitRest renders and emits what is left at the end.
func (p *streamWriter) emitRest(ctx context.Context) error {
	rest, err := p.takeRest()
	if err != nil {
		return err
	}
	if p.run.ordersByFile() {
		return p.emitInOrder(ctx, rest)
	}
	if err := p.addHits(ctx, rest); err != nil {
		return err
	}
	return p.flush()
}

// emitInOrder renders all files of the answer, and emits them in the order of Search.
func (p *streamWriter) emitInOrder(ctx context.Context, hits []hit) error {
	p.worker.Resume()
	err := p.renderAll(ctx, hits)
	p.sortFiles()
	p.worker.Pause()
	if err != nil {
		return err
	}
	stats := Stats{Matches: p.result.Stats.Matches, Files: p.result.Stats.Files}
	for files := p.result.Files; len(files) > 0; {
		n, size := 0, int64(0)
		for ; n < len(files) && size < partBytes; n++ {
			size += files[n].size
			stats.Displayed += files[n].displayed
		}
		now := time.Now()
		stats.Duration, p.since = now.Sub(p.since), now
		if err := p.emit(files[:n:n], stats); err != nil {
			return err
		}
		p.run.memory.reserve(-size)
		files, stats = files[n:], Stats{}
	}
	return nil
}

// takeReady returns what is to be shown of the segments done so far.
func (p *streamWriter) takeReady() []hit {
	n := p.run
	n.mu.Lock()
	defer n.mu.Unlock()
	return p.takeHits(min(n.mu.prefix, int(n.cutoff.Load())+1))
}

// addHits renders hits, and sends the part whenever it is large enough.
func (p *streamWriter) addHits(ctx context.Context, hits []hit) error {
	p.worker.Resume()
	defer p.worker.Pause()
	for i := range hits {
		if err := p.renderHit(ctx, &hits[i]); err != nil {
			return err
		}
		if p.bytes-p.renderer.bytesLeft >= partBytes || len(p.result.Files) > 0 && time.Now().After(p.due) {
			p.worker.Pause()
			if err := p.flush(); err != nil {
				return err
			}
			p.worker.Resume()
		}
	}
	return nil
}

// flushOrKeepAlive sends the part, or a sign of life.
func (p *streamWriter) flushOrKeepAlive() error {
	if len(p.result.Files) == 0 {
		return p.emit(nil, Stats{})
	}
	return p.flush()
}

// flush sends the part, if it has anything.
func (p *streamWriter) flush() error {
	if len(p.result.Files) == 0 {
		return nil
	}
	p.sortFiles()
	files, now, total := p.result.Files, time.Now(), &p.result.Stats
	stats := Stats{
		Matches: total.Matches - p.sent.Matches, Files: total.Files - p.sent.Files, Displayed: total.Displayed - p.sent.Displayed,
		Duration: now.Sub(p.since),
	}
	size := p.bytes - p.renderer.bytesLeft
	p.sent, p.since, p.due, p.bytes = *total, now, now.Add(partInterval), p.renderer.bytesLeft
	p.result.Files = nil // not reused: it may be in use still
	err := p.emit(files, stats)
	p.run.memory.reserve(-size)
	return err
}
