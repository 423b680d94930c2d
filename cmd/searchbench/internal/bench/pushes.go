package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

const (
	// pushTimeout bounds one run of zoekt-git-index. A run without delta mode takes as
	// long as an import.
	pushTimeout = 10 * time.Minute
	// pushPoll is the pause between two queries for the new word. It is short compared
	// with a push and long compared with a query.
	pushPoll = 2 * time.Millisecond
)

// pushedKey is the key of the ledger entry that counts the commits that an index has
// received, because each can be pushed only once.
const pushedKey = "pushed"

var errNoPushes = errors.New("this index already holds every prepared commit; import again")

// linuxPushes returns the prepared commits to use, without those that a kept index
// already contains.
func (b *bench) linuxPushes(l *ledger) (pushes []corpus.Push, before int, err error) {
	linux := b.manifest.Set("linux")
	if len(linux) == 0 || !slices.Contains(b.Sets, "linux") {
		return nil, 0, fmt.Errorf("%w: the set linux is not measured", errNoPushes)
	}
	if entry, ok := l.entries[pushedKey]; ok {
		if err := json.Unmarshal(entry.Figure, &before); err != nil {
			return nil, 0, err
		}
	}
	pushes = linux[0].Pushes[min(before, len(linux[0].Pushes)):]
	if b.Pushes > 0 && b.Pushes < len(pushes) {
		pushes = pushes[:b.Pushes]
	}
	if len(pushes) == 0 {
		return nil, before, errNoPushes
	}
	return pushes, before, nil
}

// pushQuarry delivers each commit as a signed webhook.
func (b *bench) pushQuarry(ctx context.Context, server *engine.QuarryServer) ([]pushFigure, error) {
	var figures []pushFigure
	pushes, before, err := b.linuxPushes(b.quarryLedger)
	if err != nil {
		return nil, err
	}
	clone := b.linuxClone("quarry")
	for i, p := range pushes {
		if err := b.quarryLedger.put(pushedKey, before+i+1); err != nil {
			return figures, err
		}
		if err := p.Fetch(ctx, b.Corpora, "linux", clone); err != nil {
			return figures, err
		}
		start := time.Now()
		if err := server.Push(ctx, "linux", "refs/heads/"+corpus.Branch, p.Before, p.Commit); err != nil {
			return figures, err
		}
		if err := engine.AwaitWord(ctx, server, p.Word, pushPoll); err != nil {
			return figures, err
		}
		searchable := time.Since(start)
		figures = append(figures, pushFigure{Searchable: searchable})
		b.Log("quarry: %s searchable after %s", p.Branch, searchable.Round(time.Millisecond))
	}
	return figures, nil
}

// pushZoekt runs zoekt-git-index in the clone, because zoekt receives no webhooks. It
// uses delta mode, except for the last commit if a normal run is wanted.
func (b *bench) pushZoekt(ctx context.Context, server *lazyZoekt, f *figures) error {
	if b.zoektLedger.get("pushes", &f.pushes) {
		b.zoektLedger.get("normalPush", &f.normalPush)
		return nil
	}
	pushes, before, err := b.linuxPushes(b.zoektLedger)
	if err != nil {
		return err
	}
	if err := server.ensureStarted(); err != nil {
		return err
	}
	for i, p := range pushes {
		if err := b.zoektLedger.put(pushedKey, before+i+1); err != nil {
			return err
		}
		normal := i == len(pushes)-1 && !b.SkipNormalPush
		figure, err := b.pushOneZoekt(ctx, server, p, !normal)
		if err != nil {
			return err
		}
		b.Log("zoekt: %s indexed in %s (delta %v), searchable after %s", p.Branch, figure.Indexed.Round(time.Millisecond), !normal, figure.Searchable.Round(time.Millisecond))
		if normal {
			f.normalPush = &figure
		} else {
			f.pushes = append(f.pushes, figure)
		}
	}
	return errors.Join(b.zoektLedger.put("pushes", f.pushes), b.zoektLedger.put("normalPush", f.normalPush))
}

func (b *bench) pushOneZoekt(ctx context.Context, server *lazyZoekt, p corpus.Push, delta bool) (pushFigure, error) {
	clone := b.linuxClone("zoekt")
	if err := p.Fetch(ctx, b.Corpora, "linux", clone); err != nil {
		return pushFigure{}, err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	usage, err := b.Zoekt.Index(ctx, b.zoektIndex(), delta, clone)
	if err != nil {
		return pushFigure{}, err
	}
	err = engine.AwaitWord(ctx, server, p.Word, pushPoll)
	return pushFigure{Indexed: usage.Wall, Searchable: time.Since(start)}, err
}
