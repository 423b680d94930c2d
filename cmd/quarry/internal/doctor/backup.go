package doctor

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/pipeline/backup"
)

// staleBackup is the age from which on the last backup causes a warning.
const staleBackup = 7 * 24 * time.Hour

// checkBackup checks when quarry backup last succeeded. There may be file system
// snapshots instead, which it does not know.
func checkBackup(_ context.Context, x *Examination, r *report) {
	last, err := backup.ReadLast(x.Config.Data)
	age := x.Now().Sub(last.At)
	switch {
	case err != nil:
		r.addWarning("run quarry backup", "the time of the last backup is unknown: %v", err)
	case last.At.IsZero():
		r.addOK("quarry backup has not been used")
	case age > staleBackup:
		r.addWarning("run quarry backup every day, with a timer", "the last backup, generation %d in %s, is %d days old", last.Generation,
			last.Directory, int(age.Hours()/24))
	default:
		r.addOK("generation %d in %s was made at %s", last.Generation, last.Directory, last.At.Format(time.RFC3339))
	}
}
