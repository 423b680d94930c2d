package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
)

// Exit statuses are documented in the package comment.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells report it
	exitTerminated  = 143 // 128 + SIGTERM
)

// streams holds the output streams of a command, and its environment.
type streams struct {
	// out and err escape control characters on a terminal: much of the output comes
	// from repositories, webhooks and servers.
	out, err io.Writer
	// screen and errScreen are the same streams without escaping, for colors and the
	// progress display. run sets them.
	screen, errScreen io.Writer
	environ           []string
}

// withEscapes returns s with escaping on terminals.
func (s streams) withEscapes() streams {
	if s.screen == nil {
		s.screen, s.errScreen = s.out, s.err
		s.out, s.err = terminal.Writer(s.out), terminal.Writer(s.err)
	}
	return s
}

// cli is the table of all commands. The help, the completion, the man pages and
// docs/cli.md are generated from it.
type cli struct {
	ShowVersion versionFlag `name:"version" help:"Print the version and exit."`

	Search searchCommand `cmd:"" group:"search" help:"Search the indexed repositories."`
	Index  indexCommand  `cmd:"" group:"search" help:"Add repositories and wait until they are searchable."`
	Repos  reposCommand  `cmd:"" group:"search" help:"List, add, show, rename and remove repositories."`
	MCP    mcpCommand    `cmd:"" name:"mcp" group:"search" help:"Connect an AI agent to the server over standard input and output."`

	Files   filesCommand   `cmd:"" group:"code" help:"List the files of a repository."`
	Find    findCommand    `cmd:"" group:"code" help:"Find files by fuzzy path match."`
	Defs    defsCommand    `cmd:"" group:"code" help:"Find where a symbol is defined or used."`
	Symbols symbolsCommand `cmd:"" group:"code" help:"List the symbols of a repository or file."`
	Show    showCommand    `cmd:"" group:"code" help:"Print a file or a commit."`
	Log     logCommand     `cmd:"" group:"code" help:"List commits."`
	Blame   blameCommand   `cmd:"" group:"code" help:"Show who last changed each line of a file."`
	Diff    diffCommand    `cmd:"" group:"code" help:"Print the differences between two revisions."`
	Refs    refsCommand    `cmd:"" group:"code" help:"List the searchable branches and tags of a repository."`
	Skipped skippedCommand `cmd:"" group:"code" help:"List the files of a repository that are not searchable or lack symbols."`

	Serve       serveCommand       `cmd:"" group:"server" help:"Run the server."`
	Replay      replayCommand      `cmd:"" group:"server" help:"Rebuild the index from the event log."`
	Verify      verifyCommand      `cmd:"" group:"server" help:"Compare the index with the repositories and repair it."`
	Erase       eraseCommand       `cmd:"" group:"server" help:"Erase a repository, a commit or a path from every file of the server."`
	Scip        scipCommand        `cmd:"" group:"server" help:"Upload, list and delete precise indexes."`
	Snapshots   snapshotsCommand   `cmd:"" group:"server" help:"List, create, verify and delete snapshots of the index."`
	Backup      backupCommand      `cmd:"" group:"server" help:"Back up the data directory while the server runs."`
	Restore     restoreCommand     `cmd:"" group:"server" help:"Restore a backup to an empty data directory, or check it."`
	Migrate     migrateCommand     `cmd:"" group:"server" help:"Convert the configuration of another code search server to quarry.yaml."`
	Topics      topicsCommand      `cmd:"" group:"server" help:"Show, create or copy the topics of the event log."`
	Connections connectionsCommand `cmd:"" group:"server" help:"Check, list and sync the connections to code hosts."`
	Hooks       hooksCommand       `cmd:"" group:"server" help:"Register the webhooks of connections at their code hosts."`
	Doctor      doctorCommand      `cmd:"" group:"server" help:"Diagnose problems of the server."`

	Events     eventsCommand     `cmd:"" group:"events" help:"Print the event log."`
	Deliveries deliveriesCommand `cmd:"" group:"events" help:"Show webhook deliveries and their outcomes."`
	DLQ        dlqCommand        `cmd:"" name:"dlq" group:"events" help:"Show, replay and drop dead letters."`

	Users  usersCommand  `cmd:"" group:"accounts" help:"List and manage users."`
	Invite inviteCommand `cmd:"" group:"accounts" help:"Create an invitation link."`
	Access accessCommand `cmd:"" group:"accounts" help:"Explain who may read a repository."`
	Keys   keysCommand   `cmd:"" group:"accounts" help:"List, create and delete API keys."`
	Audit  auditCommand  `cmd:"" group:"accounts" help:"Print and verify the audit log."`

	Help       helpCommand       `cmd:"" group:"other" help:"Show help for a command."`
	Completion completionCommand `cmd:"" group:"other" help:"Print a shell completion script."`
	Man        manCommand        `cmd:"" group:"other" help:"Write the man pages."`
	Version    versionCommand    `cmd:"" group:"other" help:"Print the version."`
}

// groups are the headings of flags and commands in help texts, in their printed order.
var groups = []kong.Group{
	{Key: "search", Title: "Search:"},
	{Key: "code", Title: "Code:"},
	{Key: "server", Title: "Server:"},
	{Key: "events", Title: "Events:"},
	{Key: "accounts", Title: "Accounts:"},
	{Key: "other", Title: "Other:"},
	{Key: "connection", Title: "Connection to the server:"},
	{Key: "configuration", Title: "Configuration:"},
}

// exitError is the exit status of a command that has already printed its error.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a usage error that the parser cannot detect.
type usageError struct{ error }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	ctx, stop := boot.WithSignals(context.Background())
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, environ: os.Environ()})
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, s streams) int {
	s = s.withEscapes()
	var c cli
	exited := false // kong exits after --help and --version
	parser, err := newParser(&c, kong.Writers(s.screen, s.errScreen), kong.Exit(func(int) { exited = true }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s))
	if err != nil {
		return reportError(s, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == completeRequest || args[0] == completeRequestPlain {
		return reportError(s, answerCompletion(ctx, parser.Model, args, s))
	}
	if args[0] == "search" {
		args = separateQuery(childNamed(parser.Model.Node, "search"), args)
	}
	command, err := parser.Parse(args)
	if exited {
		return exitOK
	}
	if err != nil {
		printError(s, adviseUsage(parser.Model, err))
		return exitUsage
	}
	err = command.Run()
	if ctx.Err() != nil && command.Selected().Name != "serve" { // a signal is the normal end of serve
		if boot.IsTerminated(ctx) {
			return exitTerminated
		}
		return exitInterrupted
	}
	return reportError(s, err)
}

// newParser returns a parser that fills c from the command line.
func newParser(c *cli, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(c, append([]kong.Option{
		kong.Name("quarry"),
		kong.Description("Quarry searches the code of your repositories.\n\n" + exitStatusText),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ExplicitGroups(groups),
		kong.PostBuild(func(k *kong.Kong) error {
			k.Model.HelpFlag.Help = "Show help."
			return nil
		}),
	}, options...)...)
}

// reportError prints the error of a command and returns the exit status.
func reportError(s streams, err error) int {
	var code exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	printError(s, addAdvice(err))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

func printError(s streams, err error) {
	_, _ = fmt.Fprintf(s.err, "quarry: %v\n", err)
}
