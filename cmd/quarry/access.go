package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type accessCommand struct {
	Explain explainAccessCommand `cmd:"" help:"Explain why a user may or may not read a repository."`
}

type explainAccessCommand struct {
	userFlags
	Repository string `arg:"" help:"Full name or ID of the repository."`
	JSON       bool   `help:"Print a JSON object."`
}

// Help implements kong.HelpProvider.
func (*explainAccessCommand) Help() string {
	return `Prints the rule that applies to the user and what determines the repository's visibility.

Exit status: 1 if the user may not read it.`
}

// accessSources maps each source of a visibility decision to its printed text.
var accessSources = map[string]string{"decision": "decision of an owner", "host": "code host", "default": "access.defaultVisibility"}

// Run implements the command.
func (c *explainAccessCommand) Run(ctx context.Context, s streams) error {
	server, user, err := c.findUser(ctx)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(c.Repository, 10, 64)
	if err != nil {
		if id, err = repositoryID(ctx, server, c.Repository); err != nil {
			return err
		}
	}
	e, err := server.ExplainRepositoryAccess(ctx, id, user)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSONLines(s.out, []wire.AccessExplanation{*e})
	} else {
		answer := "no"
		if e.Readable {
			answer = "yes"
		}
		_, err = fmt.Fprintf(s.out, "%s: %s (%s)\nvisibility: %s, by %s\n%s", answer, escapeCell(e.Message), e.Reason, e.Visibility,
			accessSources[string(e.Source)], describeReading(e.Host))
	}
	if err == nil && !e.Readable {
		return exitError(exitFailed)
	}
	return err
}

// describeReading returns a line with the time at which the permissions were read from
// the code host, or an empty string if they do not count.
func describeReading(h wire.HostReading) string {
	switch {
	case h.Connection == "":
		return ""
	case h.ReadAt.IsZero():
		return fmt.Sprintf("code host: %s, not read yet\n", escapeCell(h.Connection))
	}
	return fmt.Sprintf("code host: %s, read %s, counts until %s\n", escapeCell(h.Connection), h.ReadAt.UTC().Format(time.RFC3339),
		h.ExpiresAt.UTC().Format(time.RFC3339))
}
