package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type keysCommand struct {
	List   listKeysCommand  `cmd:"" default:"withargs" help:"List the API keys of all users."`
	Create createKeyCommand `cmd:"" help:"Create an API key for a user."`
	Delete deleteKeyCommand `cmd:"" help:"Delete an API key. It stops working immediately."`
}

// Help implements kong.HelpProvider.
func (*keysCommand) Help() string { return "Without a command, lists the API keys." }

type listKeysCommand struct {
	askFlags
	User string `placeholder:"USER" help:"List only keys of the user with this email address or ID."`
	JSON bool   `help:"Print one JSON object per line."`
}

// Run implements the command.
func (c *listKeysCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	keys, err := server.ListKeys(ctx, client.ListKeysParams{All: true})
	if err != nil {
		return err
	}
	if c.User != "" {
		id, err := userID(ctx, server, c.User)
		if err != nil {
			return err
		}
		keys = keysOf(keys, id)
	}
	if c.JSON {
		return printJSONLines(s.out, keys)
	}
	t := newTable(s.out, "NAME", "KEY", "SCOPES", "REPOSITORIES", "EXPIRES", "LAST USED", "USER", "ID")
	for i := range keys {
		k := &keys[i]
		t.row(k.Name, k.Prefix+"…", scopesText(k.Scopes), restrictionText(k.RepoIds), localTime(k.ExpiresAt), localTime(k.LastUsedAt), k.UserID, k.ID)
	}
	return t.Flush()
}

func keysOf(keys []wire.Key, user string) []wire.Key {
	out := []wire.Key{}
	for i := range keys {
		if keys[i].UserID == user {
			out = append(out, keys[i])
		}
	}
	return out
}

func scopesText(scopes []wire.Scope) string {
	words := make([]string, len(scopes))
	for i, scope := range scopes {
		words[i] = string(scope)
	}
	return strings.Join(words, ",")
}

// restrictionText returns the number of repositories to which a key is restricted.
func restrictionText(ids []wire.RepositoryNumber) string {
	if ids == nil { // an empty list means that all of its repositories were removed
		return "all"
	}
	return strconv.Itoa(len(ids))
}

type createKeyCommand struct {
	askFlags
	Name         string   `arg:"" help:"Name of the key. It must be unique among the keys of the user."`
	User         string   `required:"" placeholder:"USER" help:"Email address or ID of the user."`
	Scopes       []string `name:"scope" enum:"search,git,admin,scip" placeholder:"SCOPE" default:"search,git" help:"What the key allows: search, git, admin, scip (uploads of precise indexes). May be repeated. The default is ${default}."`
	Repositories []string `name:"repository" placeholder:"NAME" complete:"repository" help:"Restrict the key to the repository with this full name or ID. May be repeated. The default is all repositories."`
	Days         int      `placeholder:"N" help:"The key expires after N days. By default it does not expire."`
}

// Help implements kong.HelpProvider.
func (*createKeyCommand) Help() string {
	return `Prints the key. Only the operator can create keys for other users.

Examples:

	quarry keys create laptop --user ada@example.org
	quarry keys create ci --user ada@example.org --scope search --repository app --days 90`
}

// Run implements the command.
func (c *createKeyCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	wanted := wire.CreateKeyRequest{Name: c.Name}
	if wanted.UserID, err = userID(ctx, server, c.User); err != nil {
		return err
	}
	if wanted.RepoIds, err = repositoryIDs(ctx, server, c.Repositories); err != nil {
		return err
	}
	for _, scope := range c.Scopes {
		wanted.Scopes = append(wanted.Scopes, wire.Scope(scope))
	}
	if c.Days != 0 {
		wanted.ExpiresAt = wire.At(time.Now().Add(time.Duration(c.Days) * day))
	}
	made, err := server.CreateKey(ctx, wanted)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.out, made.Key); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.err, "Store the key now; it is not shown again.")
	return err
}

type deleteKeyCommand struct {
	askFlags
	ID string `arg:"" help:"ID of the key as keys list prints it, or the name of one of your own keys."`
}

// Run implements the command.
func (c *deleteKeyCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := server.DeleteKey(ctx, c.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.err, "%s is deleted\n", escapeCell(c.ID))
	return err
}
