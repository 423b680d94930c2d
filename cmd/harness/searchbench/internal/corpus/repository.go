package corpus

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Commits writes the commits of a new repository on Branch. It keeps the first error,
// which WriteRepository returns.
type Commits struct {
	w        *bufio.Writer
	from     string // parent of the first commit; empty for none
	sequence int
	err      error
}

// Begin begins the next commit. The files that are written until the next Begin are its
// changes.
func (c *Commits) Begin(message string) {
	c.sequence++
	if c.err == nil {
		commitHeader(c.w, "refs/heads/"+Branch, message, c.sequence)
		if c.from != "" {
			fmt.Fprintf(c.w, "from %s\n", c.from)
			c.from = ""
		}
	}
}

// File writes one ordinary file of the current commit.
func (c *Commits) File(path string, content []byte) {
	if c.err == nil {
		c.err = writeFileChange(c.w, "100644", path, content)
	}
}

// WriteRepository recreates the bare repository dir with the commits of write. It barely
// compresses the repository, because it is read only once. It removes dir first.
func WriteRepository(ctx context.Context, dir string, write func(c *Commits)) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := initBare(ctx, dir); err != nil {
		return err
	}
	config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = config.WriteString("[core]\n\tcompression = 1\n[pack]\n\tdepth = 0\n")
	if closeErr := config.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("configure %s: %w", dir, err)
	}
	return fastImport(ctx, dir, func(w *bufio.Writer) error {
		c := &Commits{w: w}
		write(c)
		if c.err == nil {
			fmt.Fprintf(w, "reset %s\nfrom refs/heads/%s\n\n", LastRef, Branch)
		}
		return c.err
	})
}

// LastRef points to the last commit that WriteRepository wrote, for callers that move
// Branch afterwards.
const LastRef = "refs/made/last"

// History returns the commits of a ref in the repository dir, oldest first.
func History(ctx context.Context, dir, ref string) ([]string, error) {
	out, err := gitCommand(dir, "rev-list", "--reverse", "--end-of-options", ref).captureOutput(ctx)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}
