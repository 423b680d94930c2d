package worker

import (
	"context"
	"maps"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// watchEvery is the interval at which the high-water marks of the log and the lag
// of the projections are read.
const watchEvery = time.Second

// watchLoop updates the gauges and checks the pressure until ctx ends.
func (w *Worker) watchLoop(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		w.checkPressure(ctx)
		w.updateGauges(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkPressure pauses new batches while the projections are more than MaxAhead records
// behind, and resumes below half of that, so that the state does not flip with each
// record. If the lag is not known, nothing changes.
func (w *Worker) checkPressure(ctx context.Context) {
	if w.o.Pressure == nil {
		return
	}
	behind, err := w.o.Pressure.Behind(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.o.Logger.Warn("reading the lag of the projections failed", "error", err)
		}
		return
	}
	switch {
	case behind > w.o.MaxAhead:
		if w.gate.setPressed(true) {
			w.o.Logger.Warn("projections are too far behind; pausing the workers", "records", behind)
		}
	case behind <= w.o.MaxAhead/2:
		if w.gate.setPressed(false) {
			w.o.Logger.Info("projections have caught up; resuming the workers", "records", behind)
		}
	}
}

// updateGauges sets the gauges for the windows and the lag of the partitions held. If the
// log does not answer, the lag keeps its value.
func (w *Worker) updateGauges(ctx context.Context) {
	w.mu.Lock()
	held := maps.Clone(w.mu.held)
	w.mu.Unlock()
	_, pressed := w.gate.remainingWait()
	w.metrics.setPaused(w.gate.isBackingOff(), pressed != nil)
	w.metrics.longest.Set(w.longestCall().Seconds())
	var high []event.Offset
	if len(held) > 0 {
		high, _ = w.o.Log.HighWater(ctx, w.o.Topic)
	}
	for number, p := range held {
		f := p.window.fillLevel()
		w.mu.Lock()
		if w.mu.held[number] == p { // otherwise its gauges are deleted
			w.metrics.setFill(number, f)
			if int(number) < len(high) && f.low > 0 {
				w.metrics.setLag(number, max(high[number]-f.low, 0))
			}
		}
		w.mu.Unlock()
	}
}
