package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/doctor"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
)

type doctorCommand struct {
	configFlags
	Server string `placeholder:"URL" env:"QUARRY_SERVER" help:"URL of the server. By default it is derived from the settings."`
	APIKey string `name:"api-key" placeholder:"KEY" env:"QUARRY_API_KEY" help:"API key. Without one, the command acts as the operator of a server on this machine."`
	JSON   bool   `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*doctorCommand) Help() string {
	return `Checks the settings, the data directory, the machine, the event log and the server, and prints a line for each finding: ok, warning or problem, with a remedy. It works whether the server is running or stopped, and without the secrets. Run it as the user of the server, with the settings of the server.

Examples:

	quarry doctor --config quarry.yaml
	sudo -u quarry quarry doctor --data /var/lib/quarry

Exit status: 1 if there is a problem.`
}

// Run implements the command.
func (c *doctorCommand) Run(ctx context.Context, s streams) error {
	permissions.RestrictUmask()
	print := func(f doctor.Finding) error { return c.printFinding(s, f) }
	loader := c.newLoader(s)
	loader.WithoutSecrets = true
	settings, warnings, err := loader.Load()
	if err != nil {
		f := doctor.Finding{Check: "configuration", Status: doctor.Problem, Message: err.Error(), Remedy: "see docs/configuration.md"}
		if err := print(f); err != nil {
			return err
		}
		return exitError(exitFailed)
	}
	fitMemory(&settings, loader.Environ)
	to, err := newClient(cmp.Or(c.Server, urlOf(&settings)), c.APIKey, settings.Data)
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	log := logdriver.Options{Config: &settings, Logger: slog.New(slog.DiscardHandler)}
	x := doctor.Examination{Config: &settings, Warnings: warnings, Now: time.Now, Probes: doctor.NewProbes(log, boot.ReadBuild().Version, to, server.DigestVisibility)}
	problems := 0
	err = x.Run(ctx, func(f doctor.Finding) error {
		if f.Status == doctor.Problem {
			problems++
		}
		return print(f)
	})
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	if problems > 0 {
		return exitError(exitFailed)
	}
	return nil
}

// printFinding prints a finding on one line and its remedy on the next.
func (c *doctorCommand) printFinding(s streams, f doctor.Finding) error {
	if c.JSON {
		return printJSONLines(s.out, []doctor.Finding{f})
	}
	_, err := fmt.Fprintf(s.out, "%-8s %s: %s\n", f.Status, f.Check, escapeCell(f.Message))
	if err == nil && f.Remedy != "" {
		_, err = fmt.Fprintf(s.out, "%-8s   %s\n", "", escapeCell(f.Remedy))
	}
	return err
}

// urlOf returns the address at which a server with these settings listens on this
// machine, or its public URL if it has a certificate, which hardly names the address.
func urlOf(c *config.Config) string {
	if c.TLS.CertFile != "" && c.PublicURL != "" {
		return c.PublicURL
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return c.Scheme() + c.Listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return c.Scheme() + net.JoinHostPort(host, port)
}
