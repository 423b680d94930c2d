package backbone

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

// measureZoektFreshness indexes only Linux, which favors zoekt, and runs zoekt-git-index
// in the clone for each commit, because zoekt receives no webhooks. The time begins when
// the commit is in the clone.
func (o *Options) measureZoektFreshness(ctx context.Context, h *history, f *Freshness) (err error) {
	if o.Zoekt == nil || o.ZoektPushes == 0 {
		return nil
	}
	index, clone := o.dataPath("freshness-zoekt"), filepath.Join(o.Work, "zoekt-git", linux+".git")
	if err := errors.Join(os.RemoveAll(index), os.RemoveAll(clone), os.MkdirAll(filepath.Dir(clone), 0o755)); err != nil {
		return err
	}
	if err := corpus.RunGit(ctx, "", "clone", "--quiet", "--bare", "--local", corpus.GitPath(o.Corpora, linux), clone); err != nil {
		return err
	}
	if _, err := o.Zoekt.Index(ctx, index, false, clone); err != nil {
		return err
	}
	server, err := o.Zoekt.Serve(ctx, index, 1, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(), os.RemoveAll(index)) }()
	questions := o.startAsking(ctx, server, o.ZoektQueries)
	defer questions.stop()
	for i := range o.ZoektPushes + 1 {
		delta := i < o.ZoektPushes
		if !delta && o.SkipNormalPush {
			return nil
		}
		if err := errors.Join(corpus.Move(h.dir, h.commits[i]), fetchBranches(ctx, clone, h.dir)); err != nil {
			return err
		}
		start := time.Now()
		if _, err := o.Zoekt.Index(ctx, index, delta, clone); err != nil {
			return err
		}
		if err := engine.AwaitWord(ctx, server, h.words[i], pollEvery); err != nil {
			return err
		}
		took := time.Since(start)
		o.Log("zoekt: searchable after %s (delta %v)", took.Round(time.Millisecond), delta)
		if delta {
			f.Delta = append(f.Delta, took)
		} else {
			f.Normal = took
		}
	}
	return nil
}
