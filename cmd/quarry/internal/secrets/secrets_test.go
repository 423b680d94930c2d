package secrets

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
)

// newConfig returns settings with a temporary data directory.
func newConfig(t *testing.T) *config.Config {
	c := config.Default()
	c.Data = t.TempDir()
	return &c
}

// readAll reads both secrets of the data directory.
func readAll(c *config.Config, logger *slog.Logger) (master, token string, err error) {
	m, err := ReadMaster(c, logger)
	if err != nil {
		return "", "", err
	}
	token, err = ReadOperatorToken(c, logger)
	return string(m), token, err
}

// TestSecretsStay checks that both secrets are created once, and that their files are
// made private.
func TestSecretsStay(t *testing.T) {
	c := newConfig(t)
	master, token, err := readAll(c, slog.New(slog.DiscardHandler))
	if err != nil || len(master) != 64 || master == token {
		t.Fatalf("secrets of %d and %d characters: %v", len(master), len(token), err)
	}
	path := filepath.Join(c.Data, FileName)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var messages bytes.Buffer
	again, tokenAgain, err := readAll(c, slog.New(slog.NewTextHandler(&messages, nil)))
	if again != master || tokenAgain != token || err != nil {
		t.Errorf("the second start has other secrets: %v", err)
	}
	for _, name := range []string{FileName, SumFileName, operator.FileName} {
		if info, err := os.Stat(filepath.Join(c.Data, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if text := messages.String(); !strings.Contains(text, path) || strings.Contains(text, master) {
		t.Errorf("logged for a secret that others may read: %s", text)
	}
	if a, b := Master(master).DeriveKey("a"), Master(master).DeriveKey("b"); len(a) != 32 || bytes.Equal(a, b) {
		t.Errorf("keys for two purposes: %x and %x", a, b)
	}
}

// TestSpoiledSecretIsNotReplaced checks that the error names the file and shows none of
// the secret.
func TestSpoiledSecretIsNotReplaced(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string) error{
		"half of a secret": func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, FileName), []byte("half of it"), 0o600)
		},
		"half of a token": func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, operator.FileName), []byte("half of it"), 0o600)
		},
		"lost": func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, FileName)) },
		"another": func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, FileName), []byte(strings.Repeat("0", 64)), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConfig(t)
			if _, _, err := readAll(c, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			if err := spoil(t, c.Data); err != nil {
				t.Fatal(err)
			}
			_, _, err := readAll(c, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), c.Data) || !strings.Contains(err.Error(), "restore") || strings.Contains(err.Error(), "half of it") {
				t.Errorf("read after it was spoiled: %v", err)
			}
		})
	}
}
