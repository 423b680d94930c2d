package assist

import (
	"slices"

	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/search"
)

// heldParts holds the first parts of an answer back, until it is decided that they are
// sent, or until they have more than maxPoorFiles files or, if untilCode is set, a file
// that is not prose.
type heldParts struct {
	emit  search.Emit
	files [][]search.FileMatch
	stats []search.Stats
	count int
	sends bool

	untilCode bool
}

// add takes a part. Empty parts are sent at once.
func (h *heldParts) add(files []search.FileMatch, stats search.Stats) error {
	if h.sends || len(files) == 0 {
		return h.emit(files, stats)
	}
	h.files, h.stats = append(h.files, files), append(h.stats, stats)
	isCode := func(f search.FileMatch) bool { return !ranking.IsProse(f.Language, f.Path) }
	if h.count += len(files); h.count > maxPoorFiles || h.untilCode && slices.ContainsFunc(files, isCode) {
		return h.send()
	}
	return nil
}

// send sends the held parts, and from now on all others.
func (h *heldParts) send() error {
	h.sends = true
	for i, files := range h.files {
		if err := h.emit(files, h.stats[i]); err != nil {
			return err
		}
	}
	h.files, h.stats = nil, nil
	return nil
}
