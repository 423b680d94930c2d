package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/seedtest"
)

const (
	crashes = 20
	// maxLife bounds how long a server lives before it is killed: long enough for some
	// pushes to complete, short enough that others are in progress.
	maxLife = 600 * time.Millisecond
	// acknowledgedEvery is the number of lives of which one has an acknowledged push.
	acknowledgedEvery = 4
)

// TestKill kills the server twenty times, at random moments, while pushes arrive and
// versions of the projections are built, switched to and rolled back. Afterwards every
// acknowledged push is searchable, and every key and value of the projections equals
// those of a rebuild from the log. QUARRY_SEED repeats a run.
func TestKill(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seedtest.ChooseSeed(t), 0))
	c := newCrashing(t)
	c.startServer()
	c.indexTree()
	for i := range crashes {
		life := time.Duration(random.Int64N(int64(maxLife)))
		acknowledged, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			c.pushUntilItFails(sync.OnceFunc(func() { close(acknowledged) }))
		}()
		// Some lives begin at the first acknowledgment, however busy the machine is.
		if i%acknowledgedEvery == 0 {
			select {
			case <-acknowledged:
			case <-stopped:
			}
		}
		<-time.After(life)
		c.server.killProcess()
		<-stopped
		c.said = append(c.said, c.server.output.String())
		c.startServer()
		c.startRandomReplay(random)
	}
	t.Logf("%d pushes were acknowledged", len(c.acknowledged))
	if len(c.acknowledged) < crashes/acknowledgedEvery {
		t.Errorf("only %d pushes were acknowledged: the servers lived too short to show anything", len(c.acknowledged))
	}
	c.searchAll()
	if err := c.server.stop(); err != nil {
		t.Fatal(err)
	}
	verify := exec.Command("quarry", "replay", "--verify", "--config", c.config, "--data", c.data)
	out, err := verify.CombinedOutput()
	if err != nil {
		t.Fatalf("replay --verify: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// crashing is a server that is killed often, and a repository that receives pushes.
type crashing struct {
	t                 *testing.T
	dir, config, data string
	tree              string
	args              []string // additional arguments of the server
	variables         []string // additional variables of its environment
	server            *server
	said              []string // output of the killed servers
	pushes            int
	acknowledged      []string // one word of each push that got 202
}

func newCrashing(t *testing.T) *crashing {
	dir := t.TempDir()
	c := &crashing{t: t, dir: dir, config: filepath.Join(dir, "quarry.yaml"), data: filepath.Join(dir, "data"), tree: filepath.Join(dir, "demo")}
	if err := os.WriteFile(c.config, []byte(configText(dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := runGit("", "init", "-q", "-b", "main", c.tree); err != nil {
		t.Fatal(err)
	}
	c.commitFile("firstfile", "it begins with the word vuvuzela")
	t.Cleanup(func() {
		if c.server != nil {
			c.server.killProcess()
		}
	})
	return c
}

func (c *crashing) startServer() {
	c.t.Helper()
	s, err := startServer(c.dir, c.environ(), append([]string{"--config", c.config, "--data", c.data}, c.args...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.server = s
}

func (c *crashing) environ() []string { return append(os.Environ(), c.variables...) }

// useClock makes the server that starts next use a clock that the returned function sets
// to the time of the machine plus an offset.
func (c *crashing) useClock() (moveClock func(offset time.Duration)) {
	file := filepath.Join(c.dir, "clock")
	c.variables = append(c.variables, "QUARRY_CHAOS_CLOCK="+file)
	return func(offset time.Duration) {
		c.t.Helper()
		writeTextFile(c.t, file+".new", strconv.Itoa(int(offset/time.Second)))
		must(c.t, os.Rename(file+".new", file)) // the server never reads half of it
	}
}

func (c *crashing) indexTree() {
	c.t.Helper()
	out, err := exec.Command("quarry", "index", "--server", c.server.url, "--data", c.server.data, "--name", "demo", c.tree).CombinedOutput()
	if err != nil {
		c.t.Fatalf("quarry index: %v\n%s\n%s", err, out, c.server.output)
	}
}

// commitFile adds and commits a file.
func (c *crashing) commitFile(name, text string) {
	if err := os.WriteFile(filepath.Join(c.tree, name+".txt"), []byte(text+"\n"), 0o644); err != nil {
		c.t.Error(err)
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", name}} {
		if err := runGit(c.tree, args...); err != nil {
			c.t.Error(err)
		}
	}
}

// pushUntilItFails commits and delivers until the server is killed. It calls acknowledged
// after each push that got 202.
func (c *crashing) pushUntilItFails(acknowledged func()) {
	for !c.server.hasExited() {
		c.pushes++
		word := fmt.Sprintf("bassoon%dx", c.pushes)
		c.commitFile(word, "here is "+word)
		status, answer, err := deliverPush(c.server.url, "msg_"+word, push{Repository: c.tree, Ref: "refs/heads/main", After: commitOf(c.tree, "HEAD")})
		switch {
		case err != nil:
			return // killed in the meantime: the push was not acknowledged
		case status != http.StatusAccepted:
			c.t.Errorf("push: %d: %s", status, answer)
			return
		}
		c.acknowledged = append(c.acknowledged, word)
		acknowledged()
	}
}

// startRandomReplay starts, at random, a replay or a rollback of the projections. The
// server may be killed in the meantime.
func (c *crashing) startRandomReplay(random *rand.Rand) {
	c.t.Helper()
	orders := [][2]string{{"", `{}`}, {"", `{"projection":"places"}`}, {"", `{"projection":"catalog"}`}, {"/rollback", ``}}
	order := orders[random.IntN(len(orders))]
	response, err := clientOf(strings.TrimPrefix(c.server.url, "http://")).Post(c.server.url+"/api/replays"+order[0], "application/json", strings.NewReader(order[1]))
	if err != nil {
		c.t.Fatalf("replay %s: %v", order, err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted && (order[0] == "" || response.StatusCode != http.StatusConflict) {
		c.t.Errorf("replay %s: %d", order, response.StatusCode)
	}
}

// searchAll waits until every acknowledged push is searchable.
func (c *crashing) searchAll() {
	c.t.Helper()
	for _, word := range append([]string{"vuvuzela"}, c.acknowledged...) {
		c.awaitWord(word)
	}
}

// awaitWord waits until the word is found exactly once.
func (c *crashing) awaitWord(word string) {
	c.t.Helper()
	var got int
	var err error
	if !pollUntil(func() bool { got, err = countMatches(c.server.url, word); return err == nil && got == 1 }) {
		c.t.Fatalf("%s was acknowledged and is not searchable after %v: %d matches, %v\n%s", word, hangDeadline, got, err, c.collectWarnings())
	}
}

// collectWarnings returns the first warnings of each server.
func (c *crashing) collectWarnings() string {
	const perServer = 3
	var b strings.Builder
	for i, said := range append(c.said, c.server.output.String()) {
		n := 0
		for line := range strings.Lines(said) {
			if !strings.Contains(line, "level=INFO") && n < perServer {
				_, _ = fmt.Fprintf(&b, "server %d: %s", i, line)
				n++
			}
		}
	}
	return b.String()
}
