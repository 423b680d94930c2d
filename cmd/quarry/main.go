package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
)

// Exit codes; see the package comment.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// streams are what a command reads and writes.
type streams struct {
	out, err io.Writer
	environ  []string
}

type cli struct {
	Serve      serveCommand      `cmd:"" help:"Run the server: all roles by default."`
	Index      indexCommand      `cmd:"" help:"Register repositories and wait until they are searchable."`
	Search     searchCommand     `cmd:"" help:"Search, and print the matches."`
	Events     eventsCommand     `cmd:"" help:"Look at the event log."`
	Deliveries deliveriesCommand `cmd:"" help:"Look at what was delivered, and what became of it."`
	DLQ        dlqCommand        `cmd:"" name:"dlq" help:"Look at records that were given up, and take them up again."`
	Replay     replayCommand     `cmd:"" help:"Rebuild the projections from the log."`
	Audit      auditCommand      `cmd:"" help:"Look at the audit log, export it, and prove that nothing of it was changed."`
	Verify     verifyCommand     `cmd:"" help:"Compare what is indexed with the repositories, and repair it."`
	Topics     topicsCommand     `cmd:"" help:"Look at the topics of the log, or create them."`
	MCP        mcpCommand        `cmd:"" name:"mcp" help:"Let AI agents search, over standard input and output."`
	Users      usersCommand      `cmd:"" help:"Look at the users, let them in, keep them out."`
	Keys       keysCommand       `cmd:"" help:"Look at API keys, make and delete them."`
	Invite     inviteCommand     `cmd:"" help:"Invite somebody: prints a link."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
}

// exitError carries the exit code of a command that has already said what went
// wrong, or whose code says it all.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	ctx, stop := boot.WithSignals(context.Background())
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, environ: os.Environ()})
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, s streams) int {
	var c cli
	done := -1 // the code that kong asks for after --help
	parser, err := kong.New(&c,
		kong.Name("quarry"),
		kong.Description("Self-hosted code search."),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { done = code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)
	if err != nil {
		return report(s, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if done >= 0 {
		return done
	}
	if err != nil {
		_, _ = fmt.Fprintf(s.err, "quarry: %v\n", advised(err))
		return exitUsage
	}
	return report(s, command.Run())
}

// report says what went wrong and returns the exit code.
func report(s streams, err error) int {
	var code exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	_, _ = fmt.Fprintf(s.err, "quarry: %v\n", advised(err))
	return exitFailed
}
