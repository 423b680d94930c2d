package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/migrate"
)

type migrateCommand struct {
	Format string `arg:"" enum:"sourcebot,zoekt-mirror,hound" help:"Format of the file: sourcebot, zoekt-mirror (-mirror_config of zoekt-indexserver) or hound."`
	File   string `arg:"" help:"Configuration file; - for standard input."`
	Output string `short:"o" placeholder:"FILE" help:"Write the settings to a new file instead of standard output."`
}

// Help implements kong.HelpProvider.
func (*migrateCommand) Help() string {
	return `Prints settings that find the same repositories. Options without a counterpart are listed on standard error, and as comments above the keys of the settings that they are about. Secrets are not copied: tokens refer to the same environment variables and files. If the file has enforcePermissions, access.defaultVisibility is set to private.

The command contacts no host and changes nothing. Review the result, then start the server with it.

Examples:

	quarry migrate sourcebot config.json -o quarry.yaml
	quarry migrate hound config.json

Exit status: 1 if the file is not a configuration of this format, or the output file exists.`
}

// Run implements the command.
func (c *migrateCommand) Run(_ context.Context, s streams) error {
	text, err := readBounded(c.File)
	if err != nil {
		return err
	}
	result, err := migrate.Convert(c.Format, text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	settings, err := result.YAML()
	if err != nil {
		return err
	}
	for _, note := range result.Notes {
		fmt.Fprintln(s.err, note)
	}
	if c.Output == "" {
		_, err = s.out.Write(settings)
		return err
	}
	if err := writeNewFile(c.Output, settings); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "%s: %d connections; start with: quarry serve --config %[1]s\n", c.Output, len(result.Config.Connections))
	return nil
}

// readBounded reads a file or standard input, up to one byte more than migrate accepts.
func readBounded(path string) ([]byte, error) {
	from := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	return io.ReadAll(io.LimitReader(from, migrate.MaxBytes+1))
}

// writeNewFile writes a file that must not exist yet, so that settings are never
// overwritten.
func writeNewFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
