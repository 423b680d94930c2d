package snapshotter

import (
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// TestGroupNames checks that each share has a group for itself, with a name that logs accept.
func TestGroupNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, text := range []string{"", "0/2", "1/2", "0,2-5", "0,2-6", "0-1023", "1-1023"} {
		share, err := sharding.ParseShare(text, "")
		if err != nil {
			t.Fatal(err)
		}
		name := groupName(share)
		if err := eventlog.CheckName(name); err != nil || seen[name] != "" {
			t.Errorf("the share %q has the group %q, as %q: %v", text, name, seen[name], err)
		}
		seen[name] = text + " "
	}
}
