package permissions

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Times of a follower.
const (
	// maxIdle is the longest time until a doubt is noticed.
	maxIdle = 250 * time.Millisecond
	// refreshEvery is the longest time until a new repository is noticed.
	refreshEvery = 30 * time.Second
	// minPace is the time between readings of overdue repositories.
	minPace = time.Second
	// minRetry is the time until a repository that failed is read again. It doubles with
	// each failure, up to the interval.
	minRetry = time.Minute
	// minPause is how long a connection pauses after its host fails. It doubles with each
	// failure, up to maxPause.
	minPause = 5 * time.Second
	maxPause = 15 * time.Minute
	// In doubtWindow, maxDoubts about a repository take effect immediately, and so do
	// maxConnectionDoubts about all repositories; more take effect at its end. A repeated
	// webhook must not use up the host's rate limit.
	doubtWindow         = 10 * time.Minute
	maxDoubts           = 10
	maxConnectionDoubts = 5
	// confirmAfter is how long a confirmation waits for more.
	confirmAfter = 30 * time.Second
	// maxReading bounds one reading, including waits for rate limits.
	maxReading = 2 * time.Hour
)

// maxIssues bounds State.Issues.
const maxIssues = 20

// eventSource is the CloudEvents source of events of this package.
const eventSource = "/pipeline/permissions"

// follower keeps the permissions of one connection current. It must be used by one
// goroutine.
type follower struct {
	r *Reader
	c Connection
	// reader was opened with settings.
	reader   discovery.MemberReader
	settings discovery.Connection

	repositories map[code.RepositoryID]*schedule
	refreshAt    time.Time
	// slot is the next free time for an overdue repository.
	slot time.Time
	// doubts are the doubts at the last step, or nil before the first.
	doubts           map[account.HostDoubt]time.Time
	connectionDoubts doubtWindowCount

	confirmed   []code.RepositoryID
	confirmedAt time.Time // when the first of their readings began

	pausedUntil time.Time
	pauses      int
	// issue is the last failure of the connection as a whole; empty after a success.
	issue   discovery.Issue
	stateAt time.Time
}

// schedule is the state of a repository in a follower.
type schedule struct {
	repository code.Repository
	next       time.Time
	failures   int
	// issue is the reason why the last reading failed; empty if it succeeded.
	issue  discovery.Issue
	doubts doubtWindowCount
	// appendedAt is the time of the last HostAccessRead that this process appended.
	appendedAt time.Time
}

func newFollower(r *Reader, c Connection) *follower {
	return &follower{r: r, c: c, repositories: map[code.RepositoryID]*schedule{}}
}

// followConnection runs steps until ctx ends.
func (f *follower) followConnection(ctx context.Context) {
	for ctx.Err() == nil {
		wait := f.runStep(ctx)
		if f.r.o.Now().Sub(f.stateAt) >= stateEvery {
			f.noteState()
		}
		if wait > 0 && clock.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// runStep reads at most one repository and returns the time until the next step.
func (f *follower) runStep(ctx context.Context) time.Duration {
	now := f.r.o.Now()
	if !now.Before(f.refreshAt) {
		if err := f.refreshRepositories(ctx, now); err != nil {
			f.issue = f.noteFailure(ctx, "", err)
			return maxIdle
		}
		f.refreshAt = now.Add(refreshEvery)
	}
	f.scheduleDoubted(ctx, now)
	if len(f.confirmed) >= event.MaxConfirmed/2 || len(f.confirmed) > 0 && now.Sub(f.confirmedAt) >= confirmAfter {
		f.appendConfirmed(ctx)
	}
	if wait := f.pausedUntil.Sub(now); wait > 0 {
		return min(wait, maxIdle)
	}
	due := f.findDue()
	if due == nil {
		return maxIdle
	}
	if wait := due.next.Sub(now); wait > 0 {
		return min(wait, maxIdle)
	}
	f.readRepository(ctx, due)
	return 0
}

// findDue returns the repository that is due first, or nil.
func (f *follower) findDue() (due *schedule) {
	for _, s := range f.repositories {
		if due == nil || s.next.Before(due.next) {
			due = s
		}
	}
	return due
}

// refreshRepositories schedules new repositories, and revokes the permissions of those
// that are no longer private repositories of the connection.
func (f *follower) refreshRepositories(ctx context.Context, now time.Time) error {
	snapshot, err := f.r.o.Catalog.Current(ctx)
	if err != nil {
		return err
	}
	known, _ := f.r.o.Known.HostAccess()
	current := map[code.RepositoryID]*schedule{}
	var fresh []*schedule
	for repository := range snapshot.All() {
		if repository.Connection != f.c.Name || !repository.Private {
			continue
		}
		s := f.repositories[repository.ID]
		if s == nil {
			s = &schedule{}
			fresh = append(fresh, s)
		}
		s.repository = repository
		current[repository.ID] = s
	}
	f.repositories = current
	f.scheduleAll(fresh, known, now)
	for id, a := range known {
		if a.Connection == f.c.Name && current[id] == nil && len(a.Users)+len(a.Emails) > 0 {
			if err := f.appendEvent(ctx, &event.HostAccessRead{ID: id, Connection: f.c.Name, At: now.UTC()}); err != nil {
				return err
			}
		}
	}
	return nil
}

// scheduleAll schedules repositories that this process has not read yet: one interval
// after their last reading, and overdue ones one after another, oldest first.
func (f *follower) scheduleAll(fresh []*schedule, known map[code.RepositoryID]*account.HostAccess, now time.Time) {
	slices.SortFunc(fresh, func(a, b *schedule) int { return readAt(known, a, f.c.Name).Compare(readAt(known, b, f.c.Name)) })
	pace := min(minPace, f.c.Interval/time.Duration(max(1, len(f.repositories))))
	for _, s := range fresh {
		s.next = readAt(known, s, f.c.Name).Add(f.c.Interval)
		if s.next.Before(now) || s.next.After(now.Add(f.c.Interval)) { // in the latter case, a clock that was ahead set the time
			if f.slot.Before(now) {
				f.slot = now
			}
			s.next = f.slot
			f.slot = f.slot.Add(pace)
		}
	}
}

// readAt returns the time at which the connection last read a repository, or the zero time.
func readAt(known map[code.RepositoryID]*account.HostAccess, s *schedule, connection string) time.Time {
	if a := known[s.repository.ID]; a != nil && a.Connection == connection {
		return a.ReadAt
	}
	return time.Time{}
}

// scheduleDoubted makes repositories due if they were doubted since the last step. The first
// step omits those that were read after the doubt.
func (f *follower) scheduleDoubted(ctx context.Context, now time.Time) {
	doubts := f.r.o.Known.HostDoubts()
	known, _ := f.r.o.Known.HostAccess()
	seen := map[account.HostDoubt]time.Time{}
	for doubt, at := range doubts {
		if doubt.Connection != f.c.Name {
			continue
		}
		seen[doubt] = at
		if f.doubts[doubt].Equal(at) {
			continue
		}
		if len(f.confirmed) > 0 {
			f.appendConfirmed(ctx) // later readings must not get a time before the doubt
		}
		if doubt.Repository != 0 && f.repositories[doubt.Repository] == nil {
			f.refreshAt = time.Time{} // it may be a new repository
		}
		dueForAll := now
		if doubt.Repository == 0 {
			dueForAll = f.connectionDoubts.admitDoubt(now, maxConnectionDoubts)
		}
		for id, s := range f.repositories {
			if doubt.Repository != 0 && doubt.Repository != id || f.doubts == nil && readAt(known, s, f.c.Name).After(at) {
				continue
			}
			due := dueForAll
			if doubt.Repository != 0 {
				due = s.doubts.admitDoubt(now, maxDoubts)
			}
			s.failures = 0
			if due.Before(s.next) {
				s.next = due
			}
		}
	}
	f.doubts = seen
}

// doubtWindowCount counts doubts in a doubtWindow.
type doubtWindowCount struct {
	begun time.Time
	n     int
}

// admitDoubt returns the time at which a doubt takes effect: now, or the end of the window
// if the window has already admitted the maximum, most.
func (c *doubtWindowCount) admitDoubt(now time.Time, most int) time.Time {
	if end := c.begun.Add(doubtWindow); now.Before(c.begun) || !now.Before(end) {
		c.begun, c.n = now, 0
	} else if c.n >= most {
		return end
	}
	c.n++
	return now
}

// readRepository reads one repository. A failure appends nothing.
func (f *follower) readRepository(ctx context.Context, s *schedule) {
	started := f.r.o.Now()
	reading, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()
	members, err := f.readMembers(reading, s)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		f.r.metrics.reads.WithLabelValues(string(f.c.Kind), "ok").Inc()
		err = f.recordMembers(ctx, s, members, started)
	} else {
		f.r.metrics.reads.WithLabelValues(string(f.c.Kind), string(hostapi.CodeOf(err))).Inc()
	}
	if err != nil {
		s.failures++
		s.next = f.r.o.Now().Add(min(minRetry<<min(s.failures-1, 10), f.c.Interval))
		s.issue = f.noteFailure(ctx, s.repository.Name, err)
		return
	}
	if s.issue.Code != "" {
		f.stateAt = time.Time{}
	}
	s.failures, s.issue = 0, discovery.Issue{}
	s.next = started.Add(f.c.Interval - f.c.Interval/10 + mathrand.N(f.c.Interval/5+1))
	f.pauses, f.issue = 0, discovery.Issue{}
}

func (f *follower) readMembers(ctx context.Context, s *schedule) (discovery.Members, error) {
	if err := f.openReader(); err != nil {
		return discovery.Members{}, hostapi.NewError(hostapi.Rejected, err.Error())
	}
	return f.reader.ReadMembers(ctx, s.repository)
}

// openReader opens the reader with the current credentials.
func (f *follower) openReader() error {
	settings, err := f.r.o.Renew(f.c.Name)
	if err != nil || f.reader != nil && reflect.DeepEqual(settings, f.settings) {
		return err
	}
	o, err := discovery.TransportOptions(&settings)
	if err != nil {
		return err
	}
	o.Dial, o.Timeout = f.r.o.Dial, f.r.o.RequestTimeout
	reader, err := discovery.OpenMembers(f.r.o.Kinds, settings, hostapi.NewTransport(o).Client())
	if err != nil {
		return err
	}
	f.reader, f.settings = reader, settings
	return nil
}

// recordMembers appends a reading. If the stored permissions already equal it and include
// every event that this process appended for the repository, it queues a confirmation
// instead.
func (f *follower) recordMembers(ctx context.Context, s *schedule, members discovery.Members, started time.Time) error {
	known, _ := f.r.o.Known.HostAccess()
	a := known[s.repository.ID]
	if a != nil && a.Connection == f.c.Name && slices.Equal(a.Users, members.Users) && slices.Equal(a.Emails, members.Emails) && !a.ReadAt.Before(s.appendedAt) && !a.ReadAt.After(started) {
		if len(f.confirmed) == 0 {
			f.confirmedAt = started
		}
		f.confirmed = append(f.confirmed, s.repository.ID)
		return nil
	}
	ev := &event.HostAccessRead{ID: s.repository.ID, Connection: f.c.Name, Users: members.Users, Emails: members.Emails, At: started.UTC()}
	s.appendedAt = ev.At
	return f.appendEvent(ctx, ev)
}

func (f *follower) appendConfirmed(ctx context.Context) {
	slices.Sort(f.confirmed)
	err := f.appendEvent(ctx, &event.HostAccessConfirmed{Connection: f.c.Name, Repositories: slices.Compact(f.confirmed), At: f.confirmedAt.UTC()})
	if err != nil {
		f.issue = f.noteFailure(ctx, "", err) // the next reading confirms them
	}
	f.confirmed = nil
}

// errAppend marks a failure to append to the log.
var errAppend = errors.New("append to the log")

func (f *follower) appendEvent(ctx context.Context, ev event.Event) error {
	rec, err := event.Encode(event.Envelope{ID: rand.Text(), Source: eventSource, Time: f.r.o.Now().UTC()}, ev)
	if err != nil {
		return hostapi.NewError(hostapi.TooLarge, err.Error())
	}
	if _, err = f.r.o.Log.Append(ctx, event.TopicAccounts, 0, rec); err != nil {
		return errors.Join(errAppend, err)
	}
	return nil
}

// noteFailure describes a failure, and pauses the connection unless it concerns one
// repository.
func (f *follower) noteFailure(ctx context.Context, repository string, err error) discovery.Issue {
	issue := discovery.NewIssue(repository, err)
	if errors.Is(err, errAppend) {
		issue.Code = discovery.LogFailed
	}
	switch hostapi.CodeOf(err) {
	case hostapi.NotFound, hostapi.Forbidden, hostapi.TooLarge:
	default:
		f.pausedUntil = f.r.o.Now().Add(min(minPause<<min(f.pauses, 10), maxPause))
		f.pauses++
	}
	f.stateAt = time.Time{} // the state is updated after this step
	if ctx.Err() == nil {
		f.r.o.Logger.Warn("reading permissions failed; the previous permissions apply until they are too old",
			"connection", f.c.Name, "repository", repository, "code", string(issue.Code), "error", issue.Detail)
	}
	return issue
}

// stateEvery is the maximum age of the State of a connection.
const stateEvery = 5 * time.Second

// noteState updates the State of the connection.
func (f *follower) noteState() {
	at := f.r.o.Now()
	f.stateAt = at
	known, _ := f.r.o.Known.HostAccess()
	state := State{Name: f.c.Name, Interval: f.c.Interval, Repositories: len(f.repositories)}
	if f.issue.Code != "" {
		state.Issues = append(state.Issues, f.issue)
	}
	var failing []*schedule
	first := true
	for _, s := range f.repositories {
		if s.issue.Code != "" {
			failing = append(failing, s)
		}
		read := readAt(known, s, f.c.Name)
		if read.After(state.LastReadAt) {
			state.LastReadAt = read
		}
		if first || read.Before(state.OldestReadAt) {
			state.OldestReadAt, first = read, false
		}
	}
	state.Failing = len(failing)
	slices.SortFunc(failing, func(a, b *schedule) int { return cmp.Compare(a.repository.Name, b.repository.Name) })
	for _, s := range failing[:min(len(failing), maxIssues-len(state.Issues))] {
		state.Issues = append(state.Issues, s.issue)
	}
	if f.issue.Code != "" {
		state.MoreIssues = 1
	}
	state.MoreIssues += len(failing) - len(state.Issues)
	if due := f.findDue(); due != nil {
		state.NextAt = due.next
	}
	if f.pausedUntil.After(at) {
		state.PausedUntil = f.pausedUntil
		if state.NextAt.Before(f.pausedUntil) {
			state.NextAt = f.pausedUntil
		}
	}
	f.r.setState(state)
}
