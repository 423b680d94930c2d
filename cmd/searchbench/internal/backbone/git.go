package backbone

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// gitTimeout bounds one git command.
const gitTimeout = 5 * time.Minute

// runGit runs git without the user's settings.
func runGit(ctx context.Context, dir string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %.500s", strings.Join(args, " "), err, out)
	}
	return nil
}

// quantileOf returns the q-quantile of times, or 0 if there are none.
func quantileOf(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// fetchBranches fetches the branches of a repository into a bare clone.
func fetchBranches(ctx context.Context, clone, from string) error {
	return runGit(ctx, clone, "fetch", "--quiet", "--no-tags", from, "+refs/heads/*:refs/heads/*")
}
