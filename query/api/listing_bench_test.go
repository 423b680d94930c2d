package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/code"
)

// manyRepositories is a catalog of n repositories, and a gate that hides every third from
// all callers except owners.
type manyRepositories struct {
	*world
	*fakeGate
	all  []*corpus.Repository
	sees auth.Visible
}

func (m *manyRepositories) Repositories(context.Context) ([]*corpus.Repository, error) {
	return m.all, nil
}

func (m *manyRepositories) Visible(p *auth.Principal) auth.Visible {
	if p.Owner() {
		return auth.Visible{}
	}
	return m.sees
}

func newMany(t testing.TB, n int) *api.Server {
	m := &manyRepositories{world: newWorld(), sees: auth.Only(func(r *code.Repository) bool { return r.ID%3 != 0 })}
	m.fakeGate = &m.gate
	for i := range n {
		m.all = append(m.all, &corpus.Repository{
			Repository: code.Repository{
				ID: code.RepositoryID(i + 1), Kind: code.GitHub, Name: fmt.Sprintf("github.com/meadow/repository%05d", i), Connection: fmt.Sprint("hub", i%10),
				WebURL: fmt.Sprintf("https://github.com/meadow/repository%05d", i), DefaultBranch: "main",
			},
			IndexedAt: day, PushedAt: day.Add(-time.Duration(i*7919%n) * time.Second),
		})
	}
	o := m.serverOptions()
	o.Catalog, o.Gate = m, m
	o.Limits = front.Limits{PerSecond: 1 << 20, Burst: 1 << 20}
	s, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// BenchmarkRepositoryPages requests the first and the last page of the list of a hundred
// and of ten thousand repositories: in the process, and over HTTP.
func BenchmarkRepositoryPages(b *testing.B) {
	sizes := []int{100, 10_000}
	servers := map[int]*api.Server{}
	urls := map[int]string{}
	for _, n := range sizes {
		servers[n] = newMany(b, n)
		listening := httptest.NewServer(servers[n])
		b.Cleanup(listening.Close)
		urls[n] = listening.URL
	}
	direct := func(n int, r *http.Request) (int, error) {
		rec := httptest.NewRecorder()
		servers[n].ServeHTTP(rec, r)
		return rec.Code, nil
	}
	overHTTP := func(n int, r *http.Request) (int, error) {
		request, err := http.NewRequest(http.MethodGet, urls[n]+r.URL.RequestURI(), nil)
		if err != nil {
			return 0, err
		}
		request.Header = r.Header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		return response.StatusCode, errors.Join(err, response.Body.Close())
	}
	for _, how := range []string{"direct", "HTTP"} {
		ask := direct
		if how == "HTTP" {
			ask = overHTTP
		}
		for _, as := range []string{"owner", "member"} {
			for _, what := range []string{"sort=name", "sort=pushed&direction=desc", "sort=name&query=REPOSITORY", "connectionId=" + strconv.Itoa(int(fakeNumbers{}.OfConnection("hub3")))} {
				b.Run(strings.Join([]string{how, as, what}, "/"), func(b *testing.B) {
					pages := pagesOf(what, as, sizes)
					took := make([]time.Duration, len(pages))
					for b.Loop() {
						for i, p := range pages {
							r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+p.path, nil)
							r.Header.Set("Authorization", "Bearer "+as)
							started := time.Now()
							status, err := ask(p.n, r)
							took[i] += time.Since(started)
							if status != http.StatusOK || err != nil {
								b.Fatal(status, err)
							}
						}
					}
					for i, p := range pages {
						b.ReportMetric(float64(took[i].Nanoseconds())/1e3/float64(b.N), p.name)
					}
				})
			}
		}
	}
}

type pageAsked struct {
	name, path string
	n          int
}

// pagesOf returns full pages at both ends of a list.
func pagesOf(what, as string, sizes []int) (out []pageAsked) {
	for _, n := range sizes {
		length := n
		if as == "member" {
			length -= n / 3
		}
		if strings.HasPrefix(what, "connectionId") {
			length /= 10
		}
		const perPage = 5
		for _, p := range []struct {
			name string
			page int
		}{{"first", 1}, {"last", length / perPage}} {
			out = append(out, pageAsked{fmt.Sprintf("%s-of-%d-µs", p.name, n), fmt.Sprintf("/api/repos?%s&perPage=%d&page=%d", what, perPage, p.page), n})
		}
	}
	return out
}
