package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/client"
)

const (
	// maxAsked bounds the number of repositories that are requested.
	maxAsked = 200
	// staleAfter is how long a push may wait before it is reported.
	staleAfter = 5 * time.Minute
	// maxFiles bounds the number of files that are searched for the newest one.
	maxFiles = 10_000
)

// serverTime returns the time of the server's clock.
func (x *Examination) serverTime(ctx context.Context) (time.Time, bool) {
	answer, err := x.Probes.Client.Raw(ctx, http.MethodGet, "/healthz", nil)
	if err != nil {
		return time.Time{}, false
	}
	_ = answer.Body.Close() // only the header is needed
	t, err := http.ParseTime(answer.Header.Get("Date"))
	return t, err == nil
}

func checkServer(ctx context.Context, x *Examination, r *report) {
	holder, _ := x.lockHeld() // unknown counts as stopped
	if err := x.checkEndpoint(ctx, "/healthz"); err != nil {
		if holder.Held {
			r.addProblem("check its log, or set its address with --server", "a process uses the data directory, but no server answers: %v", err)
		} else {
			r.addWarning("start it with quarry serve, or set its address with --server", "no server is running: %v", err)
		}
		return
	}
	if err := x.checkEndpoint(ctx, "/readyz"); err != nil {
		r.addProblem("wait if it has just started; otherwise check its log", "the server answers but is not ready: %v", err)
		return
	}
	version, err := x.Probes.Client.GetVersion(ctx)
	switch {
	case err != nil:
		r.addWarning("", "cannot read the version of the server: %v", err)
	case version.Version != x.Probes.Version:
		r.addWarning("restart the server after an update", "the server has version %s and this program %s", version.Version, x.Probes.Version)
	default:
		r.addOK("the server is ready, version %s", version.Version)
	}
}

func (x *Examination) checkEndpoint(ctx context.Context, path string) error {
	answer, err := x.Probes.Client.Raw(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func checkOwner(_ context.Context, x *Examination, r *report) {
	holder, _ := x.lockHeld() // without a server, the file was left by a killed process
	if holder.Held && operator.SetupLink(x.Config.Data) != "" {
		r.addWarning("open the link in "+filepath.Join(x.Config.Data, operator.SetupFileName), "the server has no owner yet")
	}
}

// checkDeadLetters reports nothing if no server answers, because another check reports
// that.
func checkDeadLetters(ctx context.Context, x *Examination, r *report) {
	page, err := x.Probes.Client.ListDeadLetters(ctx, client.ListDeadLettersParams{PerPage: 1})
	switch {
	case errors.Is(err, client.ErrNoAnswer):
	case err != nil:
		r.addWarning("", "the dead letters are unknown: %v", err)
	case page.Open > 0:
		r.addWarning("quarry dlq list shows the reasons; quarry dlq replay retries them", "%d events were given up", page.Open)
	default:
		r.addOK("no events were given up")
	}
}

func checkRepositories(ctx context.Context, x *Examination, r *report) {
	asked, stale, failed, first := 0, 0, 0, ""
	lost, firstLost := 0, ""
	for repository, err := range x.Probes.Client.ListRepositoriesAll(ctx, client.ListRepositoriesParams{}) {
		if errors.Is(err, client.ErrNoAnswer) {
			return
		}
		if err != nil {
			r.addWarning("", "the repositories are unknown: %v", err)
			return
		}
		if asked++; asked > maxAsked {
			break
		}
		status, err := x.Probes.Client.GetRepositoryStatus(ctx, int64(repository.RepoID))
		if err != nil {
			r.addWarning("", "the status of %s is unknown: %v", repository.RepoName, err)
			return
		}
		if status.MirrorMissing {
			if lost++; firstLost == "" {
				firstLost = repository.RepoName
			}
		}
		late := time.Duration(status.Freshness.StaleSeconds)*time.Second > staleAfter
		if late {
			stale++
		}
		if status.LastError.Message != "" {
			failed++
		}
		if (late || status.LastError.Message != "") && first == "" {
			first = repository.RepoName
		}
	}
	const remedy = "see GET /api/repos/{repoId}/status, the dead letters and the log of the server"
	if stale > 0 {
		r.addWarning(remedy, "%d of %d repositories have waited more than %s for a push to be indexed, the first is %s", stale,
			min(asked, maxAsked), staleAfter, first)
	}
	if failed > 0 {
		r.addWarning(remedy, "the last attempt to index %d of %d repositories failed, the first is %s", failed, min(asked, maxAsked), first)
	}
	if lost > 0 {
		r.addWarning("quarry verify --repair fetches them again; so does the first request for the history of each",
			"the mirrors of %d of %d repositories are missing, the first is %s", lost, min(asked, maxAsked), firstLost)
	}
	if stale+failed+lost == 0 {
		r.addOK("%d repositories were checked, none is waiting", min(asked, maxAsked))
	}
}

// youngestFile returns the latest modification time of the files in dir, or the zero time
// if there are none.
func youngestFile(dir string) (youngest time.Time, err error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = d.Close() }() // opened only for reading
	entries, _ := d.ReadDir(maxFiles)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(youngest) {
			youngest = info.ModTime()
		}
	}
	return youngest, nil
}
