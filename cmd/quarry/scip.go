package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type scipCommand struct {
	Upload uploadScipCommand `cmd:"" help:"Upload the SCIP index of a commit."`
	List   listScipCommand   `cmd:"" help:"List the precise indexes of a repository."`
	Delete deleteScipCommand `cmd:"" help:"Delete a precise index."`
}

// Help implements kong.HelpProvider.
func (*scipCommand) Help() string {
	return "Precise indexes come from indexers such as scip-go and scip-typescript, which use a compiler. They make definitions and references precise."
}

type uploadScipCommand struct {
	askFlags
	File   string        `arg:"" help:"The index, such as index.scip."`
	Repo   string        `required:"" complete:"repository" placeholder:"NAME" help:"Full name or ID of the repository."`
	Commit string        `required:"" placeholder:"ID" help:"Full ID of the commit that was checked out when the indexer ran: $(git rev-parse HEAD)."`
	Path   string        `placeholder:"PATH" help:"The directory in which the indexer ran, relative to the root of the repository."`
	Wait   time.Duration `placeholder:"TIME" default:"5m" help:"Maximum time to wait until the server has the commit. The default is ${default}."`
	JSON   bool          `help:"Print the stored index as a JSON object."`
}

// Help implements kong.HelpProvider.
func (*uploadScipCommand) Help() string {
	return `Uploads an index that makes definitions, references, implementations and hover information precise: at its commit, and at other commits on lines that are unchanged. Requires an API key with the scope scip (quarry keys create --scope search,scip) or the operator.

Every document must be a file of the commit. Otherwise the upload is rejected, and the error names the document.

Examples:

	quarry scip upload index.scip --repo github.com/meadow/kettle --commit 2b7e151628aed2a6abf7158809cf4f3c762e7160
	quarry scip upload web/index.scip --repo kettle --commit 2b7e151628aed2a6abf7158809cf4f3c762e7160 --path web`
}

// uploadRetryInterval is the interval at which an upload is repeated while the server
// does not have its commit yet.
const uploadRetryInterval = 5 * time.Second

// Run implements the command.
func (c *uploadScipCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	ids, err := repositoryIDs(ctx, server, []string{c.Repo})
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	var kept *wire.ScipUpload
	for {
		kept, err = c.upload(ctx, server, fmt.Sprint(ids[0]))
		if !isUnknownCommit(err) {
			break
		}
		select {
		case <-time.After(uploadRetryInterval):
			continue
		case <-waiting.Done():
		}
		break
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []*wire.ScipUpload{kept})
	}
	_, err = fmt.Fprintf(s.out, "%s at %.12s: %d files, %d occurrences of %d symbols\n",
		escapeCell(kept.RepoName), kept.Commit, kept.Documents, kept.Occurrences, kept.Symbols)
	return err
}

// upload sends the file once.
func (c *uploadScipCommand) upload(ctx context.Context, server *client.Client, id string) (*wire.ScipUpload, error) {
	f, err := os.Open(c.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	query := url.Values{"commit": {c.Commit}}
	if c.Path != "" {
		query.Set("path", c.Path)
	}
	out := new(wire.ScipUpload)
	return out, server.Upload(ctx, "/api/repos/"+url.PathEscape(id)+"/scip", query, f, out)
}

// isUnknownCommit reports whether an upload may succeed once the push of its commit is
// indexed.
func isUnknownCommit(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.StatusCode == http.StatusBadRequest && e.ErrorCode == "INVALID_GIT_REF"
}

type listScipCommand struct {
	askFlags
	Repo string `arg:"" complete:"repository" help:"Full name or ID of the repository."`
	JSON bool   `help:"Print one JSON object per line."`
}

// Run implements the command.
func (c *listScipCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	ids, err := repositoryIDs(ctx, server, []string{c.Repo})
	if err != nil {
		return err
	}
	found, err := server.ListScipUploads(ctx, ids[0])
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, found.Uploads)
	}
	t := newTable(s.out, "ID", "COMMIT", "PATH", "TOOL", "FILES", "OCCURRENCES", "BYTES", "UPLOADED")
	for i := range found.Uploads {
		u := &found.Uploads[i]
		t.row(u.ID, fmt.Sprintf("%.12s", u.Commit), u.Path, u.Tool+" "+u.ToolVersion, fmt.Sprint(u.Documents), fmt.Sprint(u.Occurrences),
			fmt.Sprint(u.SizeBytes), localTime(u.UploadedAt))
	}
	return t.Flush()
}

type deleteScipCommand struct {
	askFlags
	Repo string `required:"" complete:"repository" placeholder:"NAME" help:"Full name or ID of the repository."`
	ID   string `arg:"" help:"ID of the index, as scip list prints it."`
}

// Help implements kong.HelpProvider.
func (*deleteScipCommand) Help() string {
	return `Deletes an index that was uploaded by mistake: answers come without it at once, and its text leaves the disk within half an hour. It needs what scip upload needs.

Example:

	quarry scip delete 0123456789abcdef0123456789abcdef --repo github.com/meadow/kettle`
}

// Run implements the command.
func (c *deleteScipCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	ids, err := repositoryIDs(ctx, server, []string{c.Repo})
	if err != nil {
		return err
	}
	if err := server.DeleteScipUpload(ctx, ids[0], c.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.err, "%s is deleted\n", escapeCell(c.ID))
	return err
}
