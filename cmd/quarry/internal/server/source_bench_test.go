package server

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

// benchCommits is the length of the history that BenchmarkGit creates.
const benchCommits = 5000

// BenchmarkGit compares the Git endpoints with the git commands that return the same
// data, alternating between them on one repository. quarry-ms and git-ms are medians,
// ratio is their quotient. QUARRY_BENCH_REPOSITORY is a bare repository to build the
// history on, usually one with a large tree; without it the tree is small.
//
//	QUARRY_BENCH_REPOSITORY=/srv/linux.git go test -run '^$' -bench Git -benchtime 40x ./cmd/quarry/internal/server
func BenchmarkGit(b *testing.B) {
	dir, roots := longHistory(b, os.Getenv("QUARRY_BENCH_REPOSITORY"))
	s := runServer(b, testConfig(b, append(roots, "publicUrl=https://code.example")...))
	var r registration
	if status := postJSON(b, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"long"}`, dir), &r); status != http.StatusAccepted {
		b.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(b, s, r.RepoID, r.isApplied)
	side := benchSide{b, s, dir}
	const big, deep = "bench/big.c", "bench/d1/d2"
	for _, c := range []struct {
		name   string
		quarry func(n int) (method, path, body string)
		git    func(n int) [][]string
	}{
		{"source/indexed", func(int) (string, string, string) { return http.MethodGet, "/api/source?repo=long&path=" + big, "" },
			func(int) [][]string { return [][]string{{"show", "main:" + big}} }},
		{"source/ancestor", func(n int) (string, string, string) {
			return http.MethodGet, fmt.Sprintf("/api/source?repo=long&path=%s&ref=main~%d", big, n+1), ""
		}, func(n int) [][]string { return [][]string{{"show", fmt.Sprintf("main~%d:%s", n+1, big)}} }},
		{"tree/indexed", func(int) (string, string, string) {
			return http.MethodPost, "/api/tree", `{"repoName":"long","revisionName":"main","paths":["` + deep + `"]}`
		}, func(int) [][]string { return [][]string{{"ls-tree", "main", "./", "bench/", "bench/d1/", deep + "/"}} }},
		{"tree/ancestor", func(n int) (string, string, string) {
			return http.MethodPost, "/api/tree", fmt.Sprintf(`{"repoName":"long","revisionName":"main~%d","paths":["%s"]}`, n+1, deep)
		}, func(n int) [][]string {
			return [][]string{{"ls-tree", fmt.Sprintf("main~%d", n+1), "./", "bench/", "bench/d1/", deep + "/"}}
		}},
		{"commits/first", func(n int) (string, string, string) {
			return http.MethodGet, fmt.Sprintf("/api/commits?repo=long&ref=main~%d", n+1), ""
		}, func(n int) [][]string { return logPage(n+1, 0) }},
		{"commits/next", func(n int) (string, string, string) {
			return http.MethodGet, fmt.Sprintf("/api/commits?repo=long&page=%d", n+2), ""
		}, func(n int) [][]string { return logPage(0, 50*(n+1)) }},
		{"commits/path", func(n int) (string, string, string) {
			return http.MethodGet, fmt.Sprintf("/api/commits?repo=long&ref=main~%d&path=%s", n+1, big), ""
		}, func(n int) [][]string { return logPage(n+1, 0, big) }},
		{"blame/first", func(n int) (string, string, string) {
			return http.MethodGet, fmt.Sprintf("/api/blame?repo=long&ref=main~%d&path=%s", n+1, big), ""
		}, func(n int) [][]string {
			return [][]string{{"blame", "--porcelain", fmt.Sprintf("main~%d", n+1), "--", big}}
		}},
		{"blame/again", func(int) (string, string, string) { return http.MethodGet, "/api/blame?repo=long&path=" + big, "" },
			func(int) [][]string { return [][]string{{"blame", "--porcelain", "main", "--", big}} }},
		{"diff", func(n int) (string, string, string) {
			return http.MethodGet, fmt.Sprintf("/api/diff?repo=long&base=main~%d&head=main~%d", n+101, n+1), ""
		}, func(n int) [][]string {
			return [][]string{{"diff", "-M", fmt.Sprintf("main~%d", n+101), fmt.Sprintf("main~%d", n+1)}}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			side.b = b
			method, path, body := c.quarry(b.N)
			side.measureQuarry(method, path, body) // warm up both
			side.measureGit(c.git(b.N))
			var ours, theirs []time.Duration
			for n := range b.N {
				method, path, body := c.quarry(n)
				if n%2 == 0 {
					ours = append(ours, side.measureQuarry(method, path, body))
				}
				theirs = append(theirs, side.measureGit(c.git(n)))
				if n%2 == 1 {
					ours = append(ours, side.measureQuarry(method, path, body))
				}
			}
			b.ReportMetric(0, "ns/op") // the sum of both is meaningless
			b.ReportMetric(medianMilliseconds(ours), "quarry-ms")
			b.ReportMetric(medianMilliseconds(theirs), "git-ms")
			b.ReportMetric(medianMilliseconds(ours)/medianMilliseconds(theirs), "ratio")
		})
	}
}

// logPage returns the commands that produce a page of the log with its total.
func logPage(back, skip int, paths ...string) [][]string {
	from := fmt.Sprintf("main~%d", back)
	page := []string{"log", "-z", "--format=%H%x00%aI%x00%s%x00%D%x00%b%x00%aN%x00%aE", fmt.Sprintf("--skip=%d", skip), "--max-count=50", from, "--"}
	return [][]string{append(page, paths...), append([]string{"rev-list", "--count", from, "--"}, paths...)}
}

func medianMilliseconds(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}

// benchSide runs one request, or the equivalent commands.
type benchSide struct {
	b      *testing.B
	server *Server
	dir    string
}

// measureQuarry measures the request inside the server, because the loopback costs the
// same for every API.
func (s benchSide) measureQuarry(method, path, body string) time.Duration {
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+operator.Token(s.server.o.Config.Data)) // the operator has no rate limit
	start := time.Now()
	s.server.api.ServeHTTP(recorder, request)
	took := time.Since(start)
	if recorder.Code != http.StatusOK {
		s.b.Fatalf("%s %s: %d %s", method, path, recorder.Code, recorder.Body)
	}
	return took
}

func (s benchSide) measureGit(commands [][]string) time.Duration {
	start := time.Now()
	for _, args := range commands {
		c := exec.CommandContext(s.b.Context(), "git", append([]string{"-C", s.dir, "--no-pager"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			s.b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, out) // Wait returns the error
		if err := c.Wait(); err != nil {
			s.b.Fatalf("git %v: %v", args, err)
		}
	}
	return time.Since(start)
}

// longHistory creates a bare repository with benchCommits commits on top of base. It
// returns the repository, and the settings that let a server read both.
func longHistory(b *testing.B, base string) (dir string, settings []string) {
	b.Helper()
	parent := b.TempDir()
	dir = filepath.Join(parent, "long.git")
	from := ""
	if base == "" {
		runGit(b, nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
	} else {
		runGit(b, nil, "clone", "--quiet", "--bare", "--shared", base, dir)
		from = runGit(b, nil, "-C", dir, "rev-parse", "HEAD")
		runGit(b, nil, "-C", dir, "symbolic-ref", "HEAD", "refs/heads/main")
		settings = append(settings, "git.allowedRoots="+parent+","+filepath.Dir(base))
	}
	if settings == nil {
		settings = append(settings, "git.allowedRoots="+parent)
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(writeLongHistory(out, from)) }()
	runGit(b, in, "-C", dir, "fast-import", "--quiet", "--force")
	return dir, settings
}

// writeLongHistory writes a stream for fast-import. Every commit changes a small file,
// and every fifth commit changes a line of a file of 3,000 lines.
func writeLongHistory(to io.Writer, from string) error {
	w := bufio.NewWriterSize(to, 1<<20)
	random := rand.New(rand.NewPCG(6, 5000))
	lines := make([]string, 3000)
	for i := range lines {
		lines[i] = fmt.Sprintf("\tstep(%d, \"line %d of the file\");", random.IntN(1000), i)
	}
	for n := range benchCommits {
		at := 1_600_000_000 + 3600*n
		who := fmt.Sprintf("Author %d <author%d@example.org> %d +0000", n%97, n%97, at)
		message := fmt.Sprintf("change %d\n\nSome words on why it was made.\n", n)
		fmt.Fprintf(w, "commit refs/heads/main\nauthor %s\ncommitter %s\ndata %d\n%s", who, who, len(message), message)
		if n == 0 && from != "" {
			fmt.Fprintf(w, "from %s\n", from)
		}
		small := fmt.Sprintf("int value = %d;\n", n)
		fmt.Fprintf(w, "M 100644 inline bench/d1/d2/%d.c\ndata %d\n%s", n%200, len(small), small)
		if n%5 == 0 {
			line := random.IntN(len(lines))
			lines[line] = fmt.Sprintf("\tstep(%d, \"line %d, changed by %d\");", random.IntN(1000), line, n)
			text := strings.Join(lines, "\n") + "\n"
			fmt.Fprintf(w, "M 100644 inline bench/big.c\ndata %d\n%s", len(text), text)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
