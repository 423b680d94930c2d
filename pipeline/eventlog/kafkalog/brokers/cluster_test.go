package brokers

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestPropertiesOfThree checks the guarantees of a cluster: an acknowledged record is on
// two of three nodes, and no two nodes share a port.
func TestPropertiesOfThree(t *testing.T) {
	s, err := newClusterConfig(Options{Nodes: 3})
	if errors.Is(err, ErrUnavailable) && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range 3 {
		text := s.serverProperties(i, "data")
		for _, want := range []string{"min.insync.replicas=2\n", "default.replication.factor=3\n", "unclean.leader.election.enable=false\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("broker %d lacks %q", i, want)
			}
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "node.id=") || strings.HasPrefix(line, "listeners=") {
				if seen[line] {
					t.Errorf("two brokers have %s", line)
				}
				seen[line] = true
			}
		}
	}
}

func TestFindNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, _, err := Find(""); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "java") {
		t.Errorf("without Java: %v", err)
	}
}
