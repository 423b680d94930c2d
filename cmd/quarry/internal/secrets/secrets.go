package secrets

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/pipeline/backup"
	"github.com/quarrysearch/quarry/schemas/account"
)

// FileName is the file with the secret of a data directory, used if no secret is
// configured.
const FileName = backup.SecretName

// Master is the key of the credential hashes. Secrets for other purposes are derived from
// it, so that none reveals another.
type Master []byte

// DeriveKey returns a secret of 32 bytes for a purpose.
func (s Master) DeriveKey(purpose string) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// DerivePeerSecret returns the secret that shards, fronts and processes with mirrors share.
func (s Master) DerivePeerSecret() []byte { return s.DeriveKey("sessions of shards") }

// ReadMaster returns the key of the credential hashes: the configured one, or else the
// one in the data directory, which is created at the first start.
func ReadMaster(c *config.Config, logger *slog.Logger) (Master, error) {
	if given := c.Access.Secret; !given.IsZero() {
		value, err := given.Value()
		if err != nil {
			return nil, fmt.Errorf("access.secret: %w", err)
		}
		return Master(value), nil
	}
	if c.Log.Driver == "kafka" {
		logger.Warn("access.secret is not set: other processes of the role query that have another secret refuse the API keys and sessions made here", "file", filepath.Join(c.Data, FileName))
	}
	if err := checkSecretLost(c.Data); err != nil {
		return nil, err
	}
	value, err := readOrMakeValue(c, logger, FileName, "")
	if err == nil {
		err = checkSecretSum(c.Data, value)
	}
	return Master(value), err
}

// SumFileName is the file with a checksum of the secret. Without it, one wrong bit in the
// secret would make every API key and session invalid for no visible reason.
const SumFileName = FileName + ".sum"

// checkSecretLost returns an error if the secret is missing but its checksum exists. A
// new secret would invalidate every credential, and a restored copy of the old one would
// later invalidate those created in between.
func checkSecretLost(dir string) error {
	key, sum := filepath.Join(dir, FileName), filepath.Join(dir, SumFileName)
	_, keyErr := os.Lstat(key)
	_, sumErr := os.Lstat(sum)
	if !errors.Is(keyErr, os.ErrNotExist) || sumErr != nil {
		return nil
	}
	return fmt.Errorf("%s is lost, which keys the hashes of API keys, tokens, sessions and invitations, and the seals of the audit log; restore %s from a backup, or remove %s to have another made: all of these end then, and passwords stay", key, key, sum)
}

// checkSecretSum compares the secret with its checksum. It writes the checksum if there
// is none.
func checkSecretSum(dir, value string) error {
	sum := sha256.Sum256([]byte("checksum of " + FileName + "\x00" + value))
	want := hex.EncodeToString(sum[:8])
	path := filepath.Join(dir, SumFileName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := WriteFile(dir, SumFileName, want); err != nil {
			return fmt.Errorf("write the checksum of a secret: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the checksum of a secret: %w", err)
	}
	if got := strings.TrimSpace(string(b)); got != want {
		key := filepath.Join(dir, FileName)
		return fmt.Errorf("%s is damaged or was replaced: its checksum differs from %s; restore %s from a backup, or remove %s if the secret was replaced on purpose", key, path, key, path)
	}
	return nil
}

// ReadOperatorToken returns the token that proves access to the data directory, and
// creates it if there is none. The token is valid as long as its file exists.
func ReadOperatorToken(c *config.Config, logger *slog.Logger) (string, error) {
	return readOrMakeValue(c, logger, operator.FileName, account.PrefixOperator)
}

// secretValueBytes is the number of random bytes in a stored secret.
const secretValueBytes = 32

// readOrMakeValue returns the value in a file of the data directory: prefix and 64
// hexadecimal characters. It creates the file if it does not exist.
func readOrMakeValue(c *config.Config, logger *slog.Logger, name, prefix string) (string, error) {
	path := filepath.Join(c.Data, name)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return makeValue(c.Data, name, prefix)
	}
	if err != nil {
		return "", fmt.Errorf("read a secret of the data directory: %w", err)
	}
	value := strings.TrimSpace(string(b))
	secret, found := strings.CutPrefix(value, prefix)
	if b, err := hex.DecodeString(secret); err != nil || !found || len(b) != secretValueBytes || hex.EncodeToString(b) != secret {
		return "", fmt.Errorf("%s does not hold what quarry wrote into it: restore %s from a backup, or remove %s%s to create a new one, which invalidates everything made with the first", path, path, path, checksumHint(name))
	}
	if a, open, err := permissions.Open(path); err == nil && open {
		if err := os.Chmod(path, 0o600); err != nil {
			return "", fmt.Errorf("close a secret to other users of this machine: %w; %s", err, a.Command())
		}
		logger.Warn("restricted the permissions of a secret file; if other users of this machine may have read it, stop the server and remove the file"+checksumHint(name)+" to create a new one, which invalidates everything made with this one",
			"path", path, "mode", a.Octal())
	}
	return value, nil
}

// checksumHint names the checksum file that must be removed together with a file.
func checksumHint(name string) string {
	if name == FileName {
		return " and " + SumFileName
	}
	return ""
}

// makeValue writes a new value. The process must hold the data directory.
func makeValue(dir, name, prefix string) (string, error) {
	var chance [secretValueBytes]byte
	_, _ = rand.Read(chance[:]) // never fails
	value := prefix + hex.EncodeToString(chance[:])
	// Remove the checksum first: if it is missing, the next start writes it.
	err := os.Remove(filepath.Join(dir, name+".sum"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, WriteFile(dir, name, value)); err != nil {
		return "", fmt.Errorf("make a secret of the data directory: %w", err)
	}
	return value, nil
}

// WriteFile durably and atomically replaces a file of dir with value and a newline. Only
// the user of the process may read the file.
func WriteFile(dir, name, value string) (err error) {
	f, err := os.CreateTemp(dir, name+"~") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is more useful
		}
	}()
	_, err = f.WriteString(value + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
