package segmentstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// holdsFolder is the folder of the holds of a shared store, and holdPrefix begins their names.
	holdsFolder = "holds"
	holdPrefix  = "backup-"
	// holdMargin is how much longer a hold lasts for other processes, whose clocks may differ.
	holdMargin = time.Minute
	// maxHold bounds the time that is left of a hold. One that seems to last longer holds nothing.
	maxHold = 10 * time.Minute
)

// ErrClock reports that the clock of this process cannot be used with a store that others use.
var ErrClock = errors.New("the clocks of this process and of the segment store differ by more than half a minute, so that processes would not see each other's backups: synchronize them")

// SharedHolds are the holds of a store that several processes use. While there is one, processes that
// look at them delete no object. A hold is an object whose name has the end of the hold, so that it
// ends if its process does.
type SharedHolds struct {
	folder Store
	now    func() time.Time
}

// NewSharedHolds returns the holds of a store.
func NewSharedHolds(s Driver, now func() time.Time) SharedHolds {
	return SharedHolds{s.Folder(holdsFolder), now}
}

// Extend makes the hold with an ID last until a time, and removes what is left of its earlier times
// and of holds that have ended.
func (h SharedHolds) Extend(ctx context.Context, id string, until time.Time) error {
	name := fmt.Sprint(holdPrefix, id, "-", until.Add(holdMargin).Unix())
	if err := h.folder.PutBytes(ctx, name, []byte("held\n")); err != nil {
		return err
	}
	return h.removeHolds(ctx, func(other, of string, held bool) bool { return other != name && (of == id || !held) })
}

// CheckClock compares the clock with that of the store, which is the time of an object that it writes.
// It returns ErrClock if they differ by more than processes may: others would not see the hold of this
// process, or it would not see theirs.
func (h SharedHolds) CheckClock(ctx context.Context) (err error) {
	name := "clock-" + strings.ToLower(rand.Text())
	before := h.now()
	if err := h.folder.PutBytes(ctx, name, []byte("clock\n")); err != nil {
		return err
	}
	after := h.now()
	for info, listErr := range h.folder.List(ctx) {
		if err = errors.Join(err, listErr); err != nil {
			break
		}
		if info.Name != name {
			continue
		}
		switch at := info.ModTime; {
		case at.Before(before.Add(-holdMargin / 2)):
			err = fmt.Errorf("%w: this one is ahead by %s", ErrClock, before.Sub(at).Round(time.Second))
		case at.After(after.Add(holdMargin / 2)):
			err = fmt.Errorf("%w: this one is behind by %s", ErrClock, at.Sub(after).Round(time.Second))
		}
	}
	return errors.Join(err, h.folder.Delete(ctx, name))
}

// Release ends the hold with an ID.
func (h SharedHolds) Release(ctx context.Context, id string) error {
	return h.removeHolds(ctx, func(_, of string, _ bool) bool { return of == id })
}

// IsHeld reports whether there is a hold.
func (h SharedHolds) IsHeld(ctx context.Context) (is bool, err error) {
	err = h.visitHolds(ctx, func(_, _ string, held bool) { is = is || held })
	return is, err
}

// removeHolds removes the holds that f selects.
func (h SharedHolds) removeHolds(ctx context.Context, f func(name, id string, held bool) bool) error {
	var names []string
	err := h.visitHolds(ctx, func(name, id string, held bool) {
		if f(name, id, held) {
			names = append(names, name)
		}
	})
	for _, name := range names {
		if err == nil {
			err = h.folder.Delete(ctx, name)
		}
	}
	return err
}

// visitHolds calls f with each hold, and with whether it has not ended.
func (h SharedHolds) visitHolds(ctx context.Context, f func(name, id string, held bool)) error {
	for info, err := range h.folder.List(ctx) {
		if err != nil {
			return fmt.Errorf("list the holds of backups: %w", err)
		}
		id, end, _ := strings.Cut(strings.TrimPrefix(info.Name, holdPrefix), "-")
		seconds, err := strconv.ParseInt(end, 10, 64)
		if err != nil || !strings.HasPrefix(info.Name, holdPrefix) {
			continue // not a hold
		}
		left := time.Unix(seconds, 0).Sub(h.now())
		f(info.Name, id, left > 0 && left <= maxHold)
	}
	return nil
}

// heldStore is a store that several processes use, in which this one deletes nothing during a hold.
type heldStore struct {
	Driver
	holds SharedHolds
}

// Guard returns a store whose Delete returns ErrHeld while there is a hold. It lists the holds for
// each call.
func (h SharedHolds) Guard(s Driver) Store { return heldStore{s, h} }

// Delete implements Store.
func (s heldStore) Delete(ctx context.Context, name string) error {
	held, err := s.holds.IsHeld(ctx)
	if err == nil && held {
		err = fmt.Errorf("%w by a process: %s", ErrHeld, name)
	}
	if err != nil {
		return err
	}
	return s.Driver.Delete(ctx, name)
}
