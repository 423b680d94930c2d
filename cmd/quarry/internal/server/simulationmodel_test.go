package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/simulation"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// maxHealing bounds the time that the server has, once the faults have ended, to match
// the model.
const maxHealing = 30 * time.Minute

// awaitModel ends the faults and waits until the server matches the model.
func (w *simulatedWorld) awaitModel() error {
	w.s.Note("settle")
	w.faults = false
	w.setOutage(&w.away, false)
	w.setOutage(&w.full, false)
	for began := time.Now(); ; {
		for w.s.Step(w.drawVerdict) {
			if err := w.checkExit(); err != nil {
				return err
			}
		}
		err := w.compareWithModel()
		if err == nil {
			w.tally.pushes += len(w.mu.accepted)
			w.mu.accepted = nil
			w.tally.records = len(w.log.Records(event.TopicEvents))
			return nil
		}
		if letters := w.log.Records(event.TopicDeadLetters); len(letters) > 0 {
			return fmt.Errorf("%d dead letters, the first: %s; and %w", len(letters), deadLetterText(letters[0]), err)
		}
		if time.Since(began) > maxHealing {
			return fmt.Errorf("%s after the faults: %w", maxHealing, err)
		}
		w.s.Sleep(10 * time.Second)
	}
}

// deadLetterText describes the record of a dead letter.
func deadLetterText(letter event.Record) string {
	text := ""
	for _, h := range letter.Headers {
		text += fmt.Sprintf("%s=%.300s ", h.Name, h.Value)
	}
	return text
}

// compareWithModel returns the difference between the server and the model as an error.
func (w *simulatedWorld) compareWithModel() error {
	w.mu.Lock()
	inFlight, accepted := w.mu.inFlight, w.mu.accepted
	w.mu.Unlock()
	s := w.server.Load()
	switch {
	case inFlight > 0:
		return fmt.Errorf("%d deliveries were not taken", inFlight)
	case s == nil:
		return errors.New("the server does not run")
	case s.versions.CheckCaughtUp() != nil:
		return s.versions.CheckCaughtUp()
	}
	i := s.versions.Acquire()
	defer i.Release()
	v := i.Places.Acquire()
	defer v.Release()
	if n := len(w.log.Records(event.TopicDeadLetters)); n > 0 {
		return fmt.Errorf("%d dead letters", n)
	}
	for _, at := range accepted {
		if err := checkPushOutcome(i.Ledger, at); err != nil {
			return err
		}
	}
	if n := v.UnheldCount(); n > 0 {
		return fmt.Errorf("%d documents are in no segment", n)
	}
	broken, err := v.Broken(1)
	if err != nil || len(broken) > 0 {
		return fmt.Errorf("broken refs: %v: %w", broken, err)
	}
	for _, r := range w.repositories {
		if err := w.compareRepository(v, r); err != nil {
			return err
		}
	}
	return nil
}

// checkPushOutcome returns an error if an accepted push has no outcome.
func checkPushOutcome(rows *deliveries.Ledger, at event.Position) error {
	d, err := rows.Get(at)
	if errors.Is(err, code.ErrNotFound) {
		return nil // the registration that precedes the push
	}
	if err != nil {
		return err
	}
	for _, p := range d.Pushes {
		if p.Outcome == ledger.OutcomeWaiting {
			return fmt.Errorf("the push at %s has no answer", p.Position)
		}
	}
	return nil
}

// compareRepository checks refs, commits, files and texts against the host.
func (w *simulatedWorld) compareRepository(v *places.View, r *simulation.Repository) error {
	var found *places.Repository
	for _, known := range v.Repositories() {
		if known != nil && known.CloneURL == r.URL {
			found = known
		}
	}
	if found == nil {
		return fmt.Errorf("repository %s is not indexed", r.URL)
	}
	branches := w.host.Branches(r)
	for _, ref := range found.Refs {
		if branches[ref.Ref] == "" {
			return fmt.Errorf("%s of %s is deleted and still found", ref.Ref, r.URL)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(branches)) {
		indexed := found.Ref(ref)
		if indexed == nil || indexed.Commit != branches[ref] {
			return fmt.Errorf("%s of %s: indexed %v, want %s", ref, r.URL, indexed, branches[ref])
		}
		want := w.host.Files(branches[ref])
		files := map[string]code.BlobID{}
		if err := v.Files(w.ctx, found.ID, ref, "", func(p places.Place) bool {
			files[p.Path] = p.Document.Blob
			return true
		}); err != nil {
			return err
		}
		if !slices.Equal(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(want))) {
			return fmt.Errorf("%s of %s: files %v, want %v", ref, r.URL, slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(want)))
		}
		for path, blob := range files {
			if name := simulation.BlobName(want[path]); blob.String() != name {
				return fmt.Errorf("%s of %s in %s: blob %s, want %s", ref, r.URL, path, blob, name)
			}
		}
	}
	return nil
}
