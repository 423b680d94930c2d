package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// ErrDrain means that actors were still running when the time for stopping was over.
var ErrDrain = errors.New("actors did not stop in time")

// DefaultDrain bounds how long a Group may take to stop.
const DefaultDrain = 25 * time.Second

// Group runs actors together: when one returns, or the context ends, all stop.
type Group struct {
	log    *slog.Logger
	drain  time.Duration
	actors []*actor
}

type actor struct {
	name string
	run  func(context.Context) error
	stop context.CancelFunc
	done chan struct{}
	err  error // written before done is closed
}

// NewGroup returns an empty group. drain bounds the total time for stopping; 0 means
// DefaultDrain.
func NewGroup(log *slog.Logger, drain time.Duration) *Group {
	if drain <= 0 {
		drain = DefaultDrain
	}
	return &Group{log: log, drain: drain}
}

// Add adds an actor. run must block until its context ends and everything that it started
// has ended. An actor that returns earlier stops the whole group with its error. Actors
// stop in reverse order of Add.
func (g *Group) Add(name string, run func(context.Context) error) {
	g.actors = append(g.actors, &actor{name: name, run: run, done: make(chan struct{})})
}

// Run starts every actor and blocks until all have returned. It returns nil if
// ctx ended and every actor stopped cleanly, else the first actor's error.
func (g *Group) Run(ctx context.Context) error {
	returned := make(chan *actor, len(g.actors)) // bounded: one send per actor
	for _, a := range g.actors {
		g.startActor(ctx, a, returned)
	}
	var first *actor
	select {
	case <-ctx.Done():
		// Draining may take up to drain, which looks like a hang unless it is logged.
		g.log.Info("stopping", "at_most", g.drain)
	case first = <-returned:
	}
	stuck := g.stopActors(first)
	return errors.Join(g.collectErrors(first), stuck)
}

// startActor runs a on a new goroutine. Its context keeps the values of ctx but not its
// cancellation, because stopActors cancels the actors one by one.
func (g *Group) startActor(ctx context.Context, a *actor, returned chan<- *actor) {
	actorCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = cancel
	go func() {
		a.err = a.run(actorCtx)
		close(a.done)
		returned <- a
	}()
}

// stopActors stops the actors in reverse order.
func (g *Group) stopActors(first *actor) error {
	if first != nil {
		g.log.Info("a component stopped; stopping the others", "part", first.name)
	}
	timer := time.NewTimer(g.drain)
	defer timer.Stop()
	for i := len(g.actors) - 1; i >= 0; i-- {
		a := g.actors[i]
		a.stop()
		select {
		case <-a.done:
			g.log.Debug("stopped", "part", a.name)
		case <-timer.C:
			return g.abandonActors()
		}
	}
	return nil
}

// abandonActors cancels the contexts of all actors and names those that still run.
func (g *Group) abandonActors() error {
	var names []string
	for _, a := range g.actors {
		a.stop()
		select {
		case <-a.done:
		default:
			names = append(names, a.name)
		}
	}
	return fmt.Errorf("%w: after %v still running: %s", ErrDrain, g.drain, strings.Join(names, ", "))
}

// collectErrors joins the errors of the actors that have returned.
func (g *Group) collectErrors(first *actor) error {
	if first != nil && first.err == nil {
		return fmt.Errorf("%s: stopped unexpectedly", first.name)
	}
	var errs []error
	for _, a := range g.actors {
		select {
		case <-a.done:
			if a.err != nil && !errors.Is(a.err, context.Canceled) {
				errs = append(errs, fmt.Errorf("%s: %w", a.name, a.err))
			}
		default:
		}
	}
	return errors.Join(errs...)
}
