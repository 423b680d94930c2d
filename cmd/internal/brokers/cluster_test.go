package brokers

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestPropertiesOfThree(t *testing.T) {
	c := &Cluster{dir: t.TempDir()}
	if err := c.plan(3); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, b := range c.brokers {
		text, err := os.ReadFile(b.config())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"min.insync.replicas=2\n", "default.replication.factor=3\n", "unclean.leader.election.enable=false\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("broker %d lacks %q", b.id, want)
			}
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "node.id=") || strings.HasPrefix(line, "listeners=") {
				if seen[line] {
					t.Errorf("two brokers have %s", line)
				}
				seen[line] = true
			}
		}
	}
}

// A killed broker comes back with what it had.
func TestBrokerIsKilledAndComesBack(t *testing.T) {
	ctx := context.Background()
	c, err := Start(ctx, t.TempDir(), libsOfRepository, 1)
	if errors.Is(err, ErrUnavailable) {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := errors.Join(c.Kill(0), c.Restart(0)); err != nil {
		t.Fatal(err)
	}
	if err := c.Await(ctx); err != nil {
		t.Fatal(err)
	}
}

// libsOfRepository is where make kafka puts the jars, seen from this package.
const libsOfRepository = "../../../.cache/kafka/libs"
