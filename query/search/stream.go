package search

import (
	"context"
	"time"
)

// Emit receives the files of one part of an answer, best first, and the counts of the
// part: Matches, Files, Displayed and, for callers who may see everything, Duration. A part without files means that the
// search is still running. The files may use memory of the view. An error ends the
// search.
type Emit func(files []FileMatch, stats Stats) error

// Bounds of a part. It is sent when it has partBytes, or partInterval after the previous
// part or the start. So a quick search has one part, in the order of Search, and many
// small segments do not cause many small parts. After partIdle without a part, an empty
// one shows that the search is still running.
const (
	partBytes    = 128 << 10
	partInterval = 30 * time.Millisecond
	partIdle     = 5 * time.Second
)

// streamParts emits the answer while the work runs.
func (a *resultBuilder) streamParts(ctx context.Context, work func(context.Context) error, emit Emit) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	p := streamWriter{builder: a, emit: emit, since: time.Now(), due: time.Now().Add(partInterval)}
	err := p.emitUntilDone(ctx, done)
	if err != nil {
		cancel()
		<-done // the run must not outlive the view
		return err
	}
	cancel()
	a.completeResult()
	a.result.Files = nil
	return nil
}

// streamWriter emits the files of a result in parts. The result holds the files that are
// not emitted yet.
type streamWriter struct {
	builder *resultBuilder
	emit    Emit
	since   time.Time // when the previous part was sent
	due     time.Time // when the current part may be sent even if it is small
	sent    Stats     // counts of the previous parts
	bytes   int64     // renderer.bytesLeft at the start of the part
}

// emitUntilDone renders and emits the files found until done has a value, and returns
// that value.
func (p *streamWriter) emitUntilDone(ctx context.Context, done chan error) error {
	p.bytes = p.builder.renderer.bytesLeft
	timer := time.NewTimer(partIdle)
	defer timer.Stop()
	for {
		if len(p.builder.result.Files) > 0 {
			timer.Reset(time.Until(p.due))
		} else {
			timer.Reset(partIdle)
		}
		select {
		case err := <-done:
			done <- err // for the function that waits for the end of the work
			if err == nil {
				err = p.emitRest(ctx)
			}
			return err
		case <-p.builder.run.progress:
			if p.builder.run.isSentAtEnd() {
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

// isSentAtEnd reports whether the parts of a stream are sent at the end.
func (n *searchRun) isSentAtEnd() bool { return n.ordersByFile() || n.plan.remote != nil }

// emitRest renders and emits the remaining files at the end.
func (p *streamWriter) emitRest(ctx context.Context) error {
	rest, err := p.builder.takeRest(ctx)
	if err != nil {
		return err
	}
	if p.builder.run.isSentAtEnd() {
		return p.emitInOrder(ctx, rest)
	}
	if err := p.addHits(ctx, rest); err != nil {
		return err
	}
	return p.flush()
}

// emitInOrder renders all files of the answer, and emits them in the order of Search.
func (p *streamWriter) emitInOrder(ctx context.Context, hits []hit) error {
	p.builder.worker.Resume()
	err := p.builder.renderAll(ctx, hits)
	p.builder.sortFiles()
	p.builder.worker.Pause()
	if err != nil {
		return err
	}
	stats := Stats{Matches: p.builder.result.Stats.Matches, Files: p.builder.result.Stats.Files}
	for files := p.builder.result.Files; len(files) > 0; {
		n, size := 0, int64(0)
		for ; n < len(files) && size < partBytes; n++ {
			size += files[n].size
			stats.Displayed += files[n].displayed
		}
		if err := p.emit(files[:n:n], stats); err != nil {
			return err
		}
		p.builder.run.memory.Reserve(-size)
		files, stats = files[n:], Stats{}
	}
	return nil
}

// takeReady returns the hits to show from the segments completed so far.
func (p *streamWriter) takeReady() []hit {
	n := p.builder.run
	n.mu.Lock()
	defer n.mu.Unlock()
	return p.builder.takeHits(min(n.mu.prefix, int(n.cutoff.Load())+1))
}

// addHits renders hits, and sends the part whenever it is large enough.
func (p *streamWriter) addHits(ctx context.Context, hits []hit) error {
	p.builder.worker.Resume()
	defer p.builder.worker.Pause()
	for i := range hits {
		if err := p.builder.renderHit(ctx, &hits[i]); err != nil {
			return err
		}
		if p.bytes-p.builder.renderer.bytesLeft >= partBytes || len(p.builder.result.Files) > 0 && time.Now().After(p.due) {
			p.builder.worker.Pause()
			if err := p.flush(); err != nil {
				return err
			}
			p.builder.worker.Resume()
		}
	}
	return nil
}

// flushOrKeepAlive sends the part, or an empty one if there are no files.
func (p *streamWriter) flushOrKeepAlive() error {
	if len(p.builder.result.Files) == 0 {
		return p.emit(nil, Stats{})
	}
	return p.flush()
}

// flush sends the part if it has any files.
func (p *streamWriter) flush() error {
	if len(p.builder.result.Files) == 0 {
		return nil
	}
	p.builder.sortFiles()
	files, now, total := p.builder.result.Files, time.Now(), &p.builder.result.Stats
	stats := Stats{
		Matches: total.Matches - p.sent.Matches, Files: total.Files - p.sent.Files, Displayed: total.Displayed - p.sent.Displayed,
		Duration: now.Sub(p.since),
	}
	size := p.bytes - p.builder.renderer.bytesLeft
	p.sent, p.since, p.due, p.bytes = *total, now, now.Add(partInterval), p.builder.renderer.bytesLeft
	p.builder.result.Files = nil // the receiver may still use the slice
	err := p.emit(files, stats)
	p.builder.run.memory.Reserve(-size)
	return err
}
