package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

// pushFigure is one push of one file.
type pushFigure struct {
	// indexed is the wall time of zoekt-git-index; zero for quarry.
	indexed time.Duration
	// searchable is from the delivery of the web hook (quarry), or the start of zoekt-git-index, until the new word is found.
	searchable time.Duration
}

const (
	// pushTimeout bounds the wait for one word; a normal run of zoekt takes as long as an import.
	pushTimeout = 10 * time.Minute
	// pushPoll is the pause between two questions for the new word: short beside a push, long beside a question.
	pushPoll = 2 * time.Millisecond
)

// linuxPushes are the prepared commits to use.
func (b *bench) linuxPushes() []corpus.Push {
	pushes := b.manifest.Set("linux")[0].Pushes
	if b.Pushes > 0 && b.Pushes < len(pushes) {
		pushes = pushes[:b.Pushes]
	}
	return pushes
}

// moveBranch brings one prepared commit into a clone, as a push does.
func (b *bench) moveBranch(ctx context.Context, clone string, p corpus.Push) error {
	return gitCommand(ctx, clone, "fetch", "--quiet", "--no-tags", corpus.PushPath(b.Corpora, "linux"),
		"+refs/heads/"+p.Branch+":refs/heads/"+corpus.Branch)
}

// waitForWord asks until word is found and returns the time since start.
func waitForWord(ctx context.Context, s engine.Searcher, word string, start time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	ticker := time.NewTicker(pushPoll)
	defer ticker.Stop()
	for {
		answer, err := s.Search(ctx, engine.Request{Text: word, Limit: 1})
		if err != nil {
			return 0, fmt.Errorf("wait for %s: %w", word, err)
		}
		if answer.Matches > 0 {
			return time.Since(start), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for %s: %w", word, ctx.Err())
		case <-ticker.C:
		}
	}
}

// pushQuarry delivers each commit as a signed web hook.
func (b *bench) pushQuarry(ctx context.Context, server *engine.QuarryServer) ([]pushFigure, error) {
	var figures []pushFigure
	clone := b.linuxClone("quarry")
	for _, p := range b.linuxPushes() {
		if err := b.moveBranch(ctx, clone, p); err != nil {
			return figures, err
		}
		start := time.Now()
		if err := server.Push(ctx, "linux", "refs/heads/"+corpus.Branch, p.Before, p.Commit); err != nil {
			return figures, err
		}
		searchable, err := waitForWord(ctx, server, p.Word, start)
		if err != nil {
			return figures, err
		}
		figures = append(figures, pushFigure{searchable: searchable})
		b.Log("quarry: %s searchable after %s", p.Branch, searchable.Round(time.Millisecond))
	}
	return figures, nil
}

// pushZoekt runs zoekt-git-index in the clone by hand, since zoekt takes no web hooks; delta mode but for the last commit, if a normal run is wanted.
func (b *bench) pushZoekt(ctx context.Context, server *engine.ZoektServer, f *figures) error {
	pushes := b.linuxPushes()
	for i, p := range pushes {
		normal := i == len(pushes)-1 && !b.SkipNormalPush
		figure, err := b.pushOneZoekt(ctx, server, p, !normal)
		if err != nil {
			return err
		}
		b.Log("zoekt: %s indexed in %s (delta %v), searchable after %s", p.Branch, figure.indexed.Round(time.Millisecond), !normal, figure.searchable.Round(time.Millisecond))
		if normal {
			f.normalPush = &figure
		} else {
			f.pushes = append(f.pushes, figure)
		}
	}
	return nil
}

func (b *bench) pushOneZoekt(ctx context.Context, server *engine.ZoektServer, p corpus.Push, delta bool) (pushFigure, error) {
	clone := b.linuxClone("zoekt")
	if err := b.moveBranch(ctx, clone, p); err != nil {
		return pushFigure{}, err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	usage, err := b.Zoekt.Index(ctx, b.zoektIndex(), delta, clone)
	if err != nil {
		return pushFigure{}, err
	}
	searchable, err := waitForWord(ctx, server, p.Word, start)
	return pushFigure{indexed: usage.Wall, searchable: searchable}, err
}
