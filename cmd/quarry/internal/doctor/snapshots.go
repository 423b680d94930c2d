package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/quarrysearch/quarry/query/client"
)

// checkSnapshots checks the age of the newest snapshot that can be used. It reports nothing
// if no server answers.
func checkSnapshots(ctx context.Context, x *Examination, r *report) {
	list, err := x.Probes.Client.ListSnapshots(ctx)
	if errors.Is(err, client.ErrNoAnswer) {
		return
	}
	if err != nil {
		r.addWarning("", "the snapshots are unknown: %v", err)
		return
	}
	const remedy = "quarry snapshots verify NAME shows what is damaged, quarry snapshots delete NAME deletes it"
	newest, interval := time.Time{}, x.Config.Snapshots.Interval.Std()
	for _, s := range list.Snapshots {
		if s.Problem == "" && s.CreatedAt.After(newest) {
			newest = s.CreatedAt.Time
		} else if s.Problem != "" && x.Now().Sub(s.CreatedAt.Time) > time.Hour { // a younger one may be incomplete
			r.addWarning(remedy, "the snapshot %s cannot be used: %s", s.Name, s.Problem)
		}
	}
	age := x.Now().Sub(newest)
	switch {
	case list.Error != "":
		r.addWarning("quarry snapshots create tries again", "the last snapshot could not be created: %s", list.Error)
	case interval > 0 && newest.IsZero():
		r.addWarning("quarry snapshots create shows why", "there is no snapshot, although snapshots.interval is %s", interval)
	case interval > 0 && age > 3*interval:
		r.addWarning("quarry snapshots create shows why", "the newest snapshot is %s old, and snapshots.interval is %s",
			age.Round(time.Minute), interval)
	case newest.IsZero():
		r.addOK("there are no snapshots; a new query node replays the log")
	default:
		r.addOK("the newest snapshot is %s old", age.Round(time.Second))
	}
}
