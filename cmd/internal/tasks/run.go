package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

type runTask struct {
	Quarry string `default:"bin/quarry" help:"The binary."`
	Data   string `default:"quarry-data" help:"Data directory, kept between runs."`
	Listen string `default:"127.0.0.1:7070" help:"Where to listen."`

	GitRoot string `placeholder:"DIR" help:"Directory whose repositories the server may read by path, besides this checkout."`
}

// readyTimeout bounds the wait for a server that starts: with a large data directory, it
// first replays the log from its last checkpoint.
const readyTimeout = 2 * time.Minute

// Run implements the task. The server runs until it is stopped. An interrupt from the
// terminal reaches it directly, because it is in our process group. If only this process
// receives a signal, it interrupts the server.
func (r *runTask) Run(ctx context.Context) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	if err := checkFree(r.Listen); err != nil {
		return err
	}
	library, err := standardLibrary(ctx, filepath.Join(root, ".cache", "corpora"))
	if err != nil {
		return err
	}
	serve := []string{"serve", "--data", r.Data, "--listen", r.Listen, "--git-root", root}
	if r.GitRoot != "" {
		serve = append(serve, "--git-root", r.GitRoot)
	}
	server := newCommand(ctx, root, r.Quarry, serve...)
	if err := server.Start(); err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Wait() }()

	indexing, stopIndexing := context.WithCancel(ctx)
	defer stopIndexing()
	indexed := make(chan error, 1)
	go func() { indexed <- r.indexSamples(indexing, root, library) }()
	select {
	case err := <-stopped:
		stopIndexing()
		<-indexed
		return serverEnded(ctx, err)
	case err := <-indexed:
		if err != nil && ctx.Err() == nil {
			_ = server.Process.Signal(os.Interrupt)
			return errors.Join(err, <-stopped)
		}
	}
	return serverEnded(ctx, <-stopped)
}

// checkFree returns an error if another process listens on address, such as the server of an
// earlier run. Otherwise that server would be taken for the one that this run starts.
func checkFree(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w; a server may run from an earlier make run: search it with bin/quarry, or stop it with Ctrl-C in its terminal", err)
	}
	return listener.Close()
}

// serverEnded returns the result of a server that has ended. An interrupt is a normal
// end.
func serverEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// indexSamples waits for the server, indexes the repositories, and prints what to try.
func (r *runTask) indexSamples(ctx context.Context, root, library string) error {
	base := "http://" + r.Listen
	if err := waitReady(ctx, base+"/readyz"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		if err := r.indexRepository(ctx, base, "quarry", root); err != nil {
			return err
		}
	}
	if err := r.indexRepository(ctx, base, "go-std", library); err != nil {
		return err
	}
	r.printNextSteps(os.Stdout, root)
	// Printing the link is safe because a person reads this output. The server writes it
	// only to a file.
	if link := operator.SetupLink(r.Data); link != "" {
		fmt.Printf("\nFor accounts, open %s to create the owner.\n", link)
	}
	return nil
}

// printNextSteps prints what to try with the server of a checkout at root.
func (r *runTask) printNextSteps(w io.Writer, root string) {
	base := "http://" + r.Listen
	target, paths := "https://github.com/golang/example.git",
		"The server reads paths only below "+root+". For others, stop it, and run make run GIT_ROOT=DIRECTORY."
	if r.GitRoot != "" {
		target, paths = filepath.Join(r.GitRoot, "REPOSITORY"), "The server reads paths only below "+root+" and "+r.GitRoot+"."
	}
	_, _ = fmt.Fprintf(w, `
Quarry answers at %[1]s. Try, in another terminal:

  %[2]s search '"func ReadAll("'
  %[2]s search --regex 'sync\.(Once|Pool)\b lang:go -file:_test'
  %[2]s index %[3]s
  curl -s %[1]s/api/search -H 'Content-Type: application/json' -d '{"query":"sym:ServeHTTP repo:go-std","matches":5}'

%[4]s
Ctrl-C stops the server; the next make run goes on from here.
`, base, r.Quarry, target, paths)
}

func (r *runTask) indexRepository(ctx context.Context, base, name, path string) error {
	if err := newCommand(ctx, ".", r.Quarry, "index", "--server", base, "--data", r.Data, "--name", name, path).Run(); err != nil {
		return fmt.Errorf("index %s: %w", path, err)
	}
	return nil
}

// waitReady polls url until it returns 200.
func waitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok := answersOK(ctx, url); ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", url, ctx.Err())
		case <-tick.C:
		}
	}
}

func answersOK(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// standardLibrary returns a git repository of the Go standard library below dir. On most
// machines GOROOT/src is not in a repository, so this function commits it once per
// version of Go, to a separate repository whose work tree is GOROOT/src. It does not
// modify GOROOT/src.
func standardLibrary(ctx context.Context, dir string) (string, error) {
	goroot, err := runOutput(ctx, ".", "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	version, err := runOutput(ctx, ".", "go", "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	repository := filepath.Join(dir, "go-"+strings.TrimPrefix(strings.Fields(version)[0], "go"), "go-std")
	if _, err := runOutput(ctx, ".", "git", "--git-dir", filepath.Join(repository, ".git"), "rev-parse", "--verify", "HEAD"); err == nil {
		return repository, nil
	}
	fmt.Println("committing the Go standard library to", repository)
	if err := os.RemoveAll(repository); err != nil {
		return "", err
	}
	if err := os.MkdirAll(repository, 0o755); err != nil {
		return "", err
	}
	return repository, commitTree(ctx, repository, filepath.Join(goroot, "src"), "Go standard library "+version)
}

// commitTree commits the files below tree to a new repository. It includes every file,
// even those that an ignore file in the tree excludes.
func commitTree(ctx context.Context, repository, tree, message string) error {
	git := func(args ...string) error {
		_, err := runOutput(ctx, repository, "git", append([]string{"-c", "core.autocrlf=false", "-c", "gc.auto=0"}, args...)...)
		return err
	}
	return errors.Join(
		git("init", "-q", "-b", "main"),
		git("--work-tree", tree, "add", "--all", "--force", "."),
		git("--work-tree", tree, "-c", "user.name=quarry", "-c", "user.email=quarry@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m", message),
	)
}
