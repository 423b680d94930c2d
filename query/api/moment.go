package api

import (
	"time"

	"github.com/quarrysearch/quarry/query/source"
)

// moment returns a time in seconds, 0 if it is absent; see source.ParseMoment.
func (p *params) moment(name string, now time.Time, end bool) int64 {
	at, err := source.ParseMoment(p.text(name, maxMomentBytes), now, end)
	if err != nil {
		p.failf("%s: %v", name, err)
	}
	return at
}

// maxMomentBytes is above the longest time that is read.
const maxMomentBytes = 100
