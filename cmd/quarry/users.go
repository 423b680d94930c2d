package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type usersCommand struct {
	List      listUsersCommand     `cmd:"" default:"withargs" help:"List the users."`
	Approve   approveUserCommand   `cmd:"" help:"Approve a user who signed up."`
	Suspend   suspendUserCommand   `cmd:"" help:"Suspend a user: sessions, API keys and tokens stop working immediately."`
	Reinstate reinstateUserCommand `cmd:"" help:"Reinstate a suspended user."`
	Role      roleCommand          `cmd:"" help:"Change the role of a user."`
	Remove    removeUserCommand    `cmd:"" help:"Remove a user with all sessions, API keys and tokens."`
}

// Help implements kong.HelpProvider.
func (*usersCommand) Help() string { return "Without a command, lists the users." }

type listUsersCommand struct {
	askFlags
	JSON bool `help:"Print one JSON object per line."`
}

// Run implements the command.
func (c *listUsersCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	users, err := server.ListUsers(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, users)
	}
	t := newTable(s.out, "E-MAIL", "NAME", "ROLE", "STATE", "LAST SEEN", "ID")
	for i := range users {
		u := &users[i]
		name := ""
		if u.Name != nil {
			name = *u.Name
		}
		t.row(u.Email, name, string(u.Role), string(u.State), localTime(u.LastActivityAt), string(u.ID))
	}
	return t.Flush()
}

// localTime formats a time in the local time zone; the zero time is a dash.
func localTime(t wire.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// userFlags holds the flags and arguments that name a user.
type userFlags struct {
	askFlags
	User string `arg:"" help:"Email address or ID of the user."`
}

// findUser returns a client and the user's ID.
func (f *userFlags) findUser(ctx context.Context) (*client.Client, string, error) {
	server, err := f.newClient()
	if err != nil {
		return nil, "", err
	}
	id, err := userID(ctx, server, f.User)
	return server, id, err
}

// userID returns the ID of the user with the given e-mail address, ignoring case, or ID.
func userID(ctx context.Context, server *client.Client, name string) (string, error) {
	if !strings.Contains(name, "@") {
		return name, nil
	}
	users, err := server.ListUsers(ctx)
	if err != nil {
		return "", err
	}
	for _, u := range users {
		if strings.EqualFold(u.Email, name) {
			return u.ID, nil
		}
	}
	return "", fmt.Errorf("no user has the e-mail address %s", escapeCell(name))
}

// printUser prints the current state of a user.
func printUser(s streams, u *wire.User, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.err, "%s is %s, %s\n", escapeCell(u.Email), u.State, u.Role)
	return err
}

type approveUserCommand struct{ userFlags }

// Run implements the command.
func (c *approveUserCommand) Run(ctx context.Context, s streams) error {
	server, id, err := c.findUser(ctx)
	if err != nil {
		return err
	}
	u, err := server.ApproveUser(ctx, id)
	return printUser(s, u, err)
}

type suspendUserCommand struct{ userFlags }

// Run implements the command.
func (c *suspendUserCommand) Run(ctx context.Context, s streams) error {
	server, id, err := c.findUser(ctx)
	if err != nil {
		return err
	}
	u, err := server.SuspendUser(ctx, id)
	return printUser(s, u, err)
}

type reinstateUserCommand struct{ userFlags }

// Run implements the command.
func (c *reinstateUserCommand) Run(ctx context.Context, s streams) error {
	server, id, err := c.findUser(ctx)
	if err != nil {
		return err
	}
	u, err := server.ReinstateUser(ctx, id)
	return printUser(s, u, err)
}

// role is a role as the API spells it. On the command line, its case does not matter.
type role wire.Role

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *role) UnmarshalText(text []byte) error {
	*r = role(strings.ToUpper(string(text)))
	if *r != role(wire.RoleOWNER) && *r != role(wire.RoleMEMBER) {
		return fmt.Errorf("%q is no role: want owner or member", text)
	}
	return nil
}

type roleCommand struct {
	userFlags
	Role role `arg:"" complete:"owner,member" help:"New role: owner or member."`
}

// Run implements the command.
func (c *roleCommand) Run(ctx context.Context, s streams) error {
	server, id, err := c.findUser(ctx)
	if err != nil {
		return err
	}
	u, err := server.ChangeRole(ctx, id, wire.RoleRequest{Role: wire.Role(c.Role)})
	return printUser(s, u, err)
}

type removeUserCommand struct{ userFlags }

// Run implements the command.
func (c *removeUserCommand) Run(ctx context.Context, s streams) error {
	server, id, err := c.findUser(ctx)
	if err != nil {
		return err
	}
	if _, err := server.DeleteUser(ctx, client.DeleteUserParams{UserID: id}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.err, "%s is removed\n", escapeCell(c.User))
	return err
}

// Help implements kong.HelpProvider.
func (*roleCommand) Help() string {
	return `Example:

	quarry users role ada@example.org owner`
}

// Help implements kong.HelpProvider.
func (*inviteCommand) Help() string {
	return `Prints a link that one person can use to create an account.

Examples:

	quarry invite ada@example.org
	quarry invite --role owner --days 1`
}

type inviteCommand struct {
	askFlags
	Email string `arg:"" optional:"" help:"Email address of the person to invite. Without one, anyone with the link can accept."`
	Role  role   `complete:"owner,member" default:"member" placeholder:"ROLE" help:"Role of the new user: owner or member. The default is ${default}."`
	Days  int    `placeholder:"N" default:"7" help:"The invitation expires after N days, at most 90. The default is ${default}."`
}

// Run implements the command.
func (c *inviteCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	made, err := server.Invite(ctx, wire.InviteRequest{
		Email: c.Email, Role: wire.Role(c.Role), ExpiresAt: wire.At(time.Now().Add(time.Duration(c.Days) * day)),
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.out, escapeCell(made.URL)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.err, "The link invites one %s and expires at %s. Send it yourself; it is not shown again.\n",
		strings.ToLower(string(made.Role)), localTime(made.ExpiresAt))
	return err
}

const day = 24 * time.Hour
