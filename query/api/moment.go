package api

import (
	"time"

	"github.com/quarrysearch/quarry/query/source"
)

// momentParam returns a time in seconds, or 0 if it is absent; see source.ParseMoment.
func (p *params) momentParam(name string, now time.Time, end bool) int64 {
	at, err := source.ParseMoment(p.textParam(name, maxMomentBytes), now, end)
	if err != nil {
		p.addErrorf("%s: %v", name, err)
	}
	return at
}

// maxMomentBytes exceeds the length of any valid time.
const maxMomentBytes = 100
