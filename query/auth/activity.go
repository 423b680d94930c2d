package auth

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// activityPrecision is the precision of LastActivityAt and LastUsedAt.
	activityPrecision = 5 * time.Minute
	// activityInterval is how often new activity is recorded.
	activityInterval = time.Minute
	// finalWriteTimeout bounds the last write, at the end of Run.
	finalWriteTimeout = 5 * time.Second
)

// activity holds the users and keys seen since the last recorded event, at most
// event.MaxActivity of each.
type activity struct {
	mu struct {
		sync.Mutex
		users map[account.UserID]time.Time
		keys  map[account.KeyID]time.Time
	}
}

// markSeen records that an ID was seen, unless the known time is recent enough.
func markSeen[ID comparable](seen *map[ID]time.Time, id ID, known, now time.Time) {
	if now.Sub(known) < activityPrecision || id == *new(ID) {
		return
	}
	if *seen == nil {
		*seen = map[ID]time.Time{}
	}
	if _, found := (*seen)[id]; found || len(*seen) < event.MaxActivity {
		(*seen)[id] = now
	}
}

func (a *activity) seeUser(u *account.User, now time.Time) {
	if now.Sub(u.LastActivityAt) < activityPrecision {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	markSeen(&a.mu.users, u.ID, u.LastActivityAt, now)
}

func (a *activity) seeKey(k *account.Key, now time.Time) {
	if now.Sub(k.LastUsedAt) < activityPrecision {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	markSeen(&a.mu.keys, k.ID, k.LastUsedAt, now)
}

// takeSeen returns the users and keys seen since the last call; nil if there were none.
func (a *activity) takeSeen(now time.Time) *event.ActivityNoted {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.mu.users)+len(a.mu.keys) == 0 {
		return nil
	}
	ev := &event.ActivityNoted{Users: maps.Clone(a.mu.users), Keys: maps.Clone(a.mu.keys), At: now}
	clear(a.mu.users)
	clear(a.mu.keys)
	return ev
}

// Run records activity until ctx ends, and once more then.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(activityInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.noteActivity(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalWriteTimeout)
			defer cancel()
			s.noteActivity(last)
			return ctx.Err()
		}
	}
}

// noteActivity does not retry: the next request of the same user is recorded instead.
func (s *Service) noteActivity(ctx context.Context) {
	ev := s.activity.takeSeen(s.nowUTC())
	if ev == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if _, err := s.o.Appender.Append(ctx, ev); err != nil {
		s.metrics.activityLost.Add(float64(len(ev.Users) + len(ev.Keys)))
		s.o.Logger.WarnContext(ctx, "last use of users and keys not recorded", "users", len(ev.Users), "keys", len(ev.Keys), "error", err)
	}
}
