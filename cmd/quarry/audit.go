package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type auditCommand struct {
	List   listAuditCommand   `cmd:"" default:"withargs" help:"List the entries of the audit log, newest first."`
	Export exportAuditCommand `cmd:"" help:"Print all entries as JSON lines, oldest first."`
	Head   auditHeadCommand   `cmd:"" help:"Print the heads of the hash chains."`
	Verify verifyAuditCommand `cmd:"" help:"Verify that no entry was changed or removed."`
}

// Help implements kong.HelpProvider.
func (*auditCommand) Help() string { return "Without a command, lists the newest entries." }

// auditFilter holds the flags that select entries.
type auditFilter struct {
	Since  string `placeholder:"TIME" help:"Only entries at this time or later, such as 2026-03-04T05:06:07Z."`
	Until  string `placeholder:"TIME" help:"Only entries at this time or earlier."`
	Action string `placeholder:"ACTION" help:"Only entries with this action, such as user.performed_code_search."`
	Actor  string `placeholder:"ID" help:"Only entries of the user with this ID, or of anonymous, operator or system."`
}

// parseTime parses the value of a time flag. An empty text yields the zero time.
func (f *auditFilter) parseTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, usageErrorf("--%s: want a time such as 2026-03-04T05:06:07Z, have %.40q", name, text)
	}
	return t, nil
}

type listAuditCommand struct {
	askFlags
	auditFilter
	Limit int  `short:"n" placeholder:"N" default:"50" help:"List at most N entries. The default is ${default}."`
	JSON  bool `help:"Print one JSON object per line."`
}

// Run implements the command.
func (c *listAuditCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	params := client.ListAuditRecordsParams{Action: c.Action, Actor: c.Actor, PerPage: maxPageDeliveries}
	if params.Since.Time, err = c.parseTime("since", c.Since); err != nil {
		return err
	}
	if params.Until.Time, err = c.parseTime("until", c.Until); err != nil {
		return err
	}
	var found []wire.AuditRecord
	for e, err := range server.ListAuditRecordsAll(ctx, params) {
		if err != nil {
			return err
		}
		if found = append(found, e); len(found) >= c.Limit {
			break
		}
	}
	if c.JSON {
		return printJSONLines(s.out, found)
	}
	return printAudit(s.out, found)
}

// printAudit prints entries as a table.
func printAudit(out io.Writer, found []wire.AuditRecord) error {
	t := newTable(out, "AT", "ACTION", "ACTOR", "ADDRESS", "TARGET", "STATUS", "ID")
	for i := range found {
		e := &found[i]
		status := e.Metadata["status"]
		if refused := e.Metadata["refused"]; refused != "" {
			status = "refused: " + refused
		}
		t.row(e.Timestamp.Local().Format(time.DateTime), e.Action, e.ActorID, e.Metadata["address"], e.TargetType+" "+e.TargetID, status, e.ID)
	}
	return t.Flush()
}

type exportAuditCommand struct {
	askFlags
	auditFilter
	After string `placeholder:"IDS" help:"Continue after an earlier export, which printed IDS to standard error when it ended."`
}

// exportEnd is the last line of an export.
type exportEnd struct {
	Next     *string `json:"next"`
	Complete bool    `json:"complete"`
}

// Help implements kong.HelpProvider.
func (*exportAuditCommand) Help() string {
	return `Examples:

	quarry audit export > audit.jsonl
	quarry audit export --after accounts-17-0,audit-123-4 >> audit.jsonl`
}

// Help implements kong.HelpProvider.
func (*auditHeadCommand) Help() string {
	return `Prints one line for each hash chain. Store the lines on another machine: "audit verify --head" proves later that everything before them is unchanged.

Example:

	quarry audit head > /mnt/elsewhere/head`
}

// Run implements the command. A server ends an export after some time, so the command
// repeats the request until it has all entries.
func (c *exportAuditCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	for after := c.After; ; {
		end, err := c.copyPart(ctx, server, after, s.out)
		if err != nil {
			return fmt.Errorf("export: %w; continue with --after %q", err, after)
		}
		if after = *end.Next; end.Complete {
			_, err := fmt.Fprintf(s.err, "complete; to continue later: --after %s\n", after)
			return err
		}
	}
}

// copyPart copies one response of the server and returns its end line.
func (c *exportAuditCommand) copyPart(ctx context.Context, server *client.Client, after string, out io.Writer) (exportEnd, error) {
	query := url.Values{}
	for name, value := range map[string]string{"since": c.Since, "until": c.Until, "action": c.Action, "actor": c.Actor, "after": after} {
		if value != "" {
			query.Set(name, value)
		}
	}
	answer, err := server.Raw(ctx, http.MethodGet, "/api/ee/audit/export?"+query.Encode(), nil)
	if err != nil {
		return exportEnd{}, err
	}
	defer func() { _ = answer.Body.Close() }() // the body was read to its end, or reading failed
	return copyExport(out, answer.Body)
}

// maxExportLine bounds a line of an export, in bytes.
const maxExportLine = 1 << 20

// errExportCut reports an export without an end line.
var errExportCut = errors.New("the response was truncated")

// copyExport copies the entries of an export and returns its end.
func copyExport(out io.Writer, in io.Reader) (exportEnd, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxExportLine)
	for lines.Scan() {
		line := lines.Bytes()
		if bytes.HasPrefix(line, []byte(`{"next"`)) {
			var end exportEnd
			if err := json.Unmarshal(line, &end); err != nil || end.Next == nil {
				return end, errors.Join(errExportCut, err)
			}
			return end, nil
		}
		if _, err := out.Write(append(bytes.Clone(line), '\n')); err != nil {
			return exportEnd{}, err
		}
	}
	return exportEnd{}, errors.Join(errExportCut, lines.Err())
}

type auditHeadCommand struct {
	askFlags
	JSON bool `help:"Print one JSON object per line."`
}

// Run implements the command.
func (c *auditHeadCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	found, err := server.GetAuditHead(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, found.Heads)
	}
	for _, h := range found.Heads {
		if h.Head == "" {
			continue
		}
		if _, err := fmt.Fprintln(s.out, h.Head); err != nil {
			return err
		}
	}
	return nil
}
