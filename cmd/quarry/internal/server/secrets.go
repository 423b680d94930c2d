package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/backup"
	"github.com/quarrysearch/quarry/schemas/account"
)

// secretFile holds the secret of a data directory, where none is configured.
const secretFile = backup.SecretName

// secrets is the key of the credential hashes. The secrets for other purposes are
// derived from it, so that none reveals another.
type masterSecret []byte

// deriveKey returns the secret for a purpose, 32 bytes.
func (s masterSecret) deriveKey(purpose string) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// accessSecret returns what keys the hashes of credentials: as configured, or else
// from the data directory, where it is made at the first start.
func accessSecret(o Options) (masterSecret, error) {
	if given := o.Config.Access.Secret; !given.IsZero() {
		value, err := given.Value()
		if err != nil {
			return nil, fmt.Errorf("access.secret: %w", err)
		}
		return masterSecret(value), nil
	}
	if o.Config.Log.Driver == "kafka" {
		o.Logger.Warn("access.secret is not set: other processes of the role query that have another secret refuse the API keys and sessions made here", "file", filepath.Join(o.Config.Data, secretFile))
	}
	if err := checkSecretLost(o.Config.Data); err != nil {
		return nil, err
	}
	value, err := readOrMakeValue(o, secretFile, "")
	if err == nil {
		err = checkSecretSum(o.Config.Data, value)
	}
	return masterSecret(value), err
}

// secretSumFile holds a checksum of secretFile: with one wrong bit in the secret,
// every API key and session would be refused, and nothing would say why.
const secretSumFile = secretFile + ".sum"

// checkSecretLost fails if the secret is gone and its checksum is there: with another
// secret every credential would be refused, and a copy that is put back later would end
// those that were made meanwhile.
func checkSecretLost(dir string) error {
	key, sum := filepath.Join(dir, secretFile), filepath.Join(dir, secretSumFile)
	_, keyErr := os.Lstat(key)
	_, sumErr := os.Lstat(sum)
	if !errors.Is(keyErr, os.ErrNotExist) || sumErr != nil {
		return nil
	}
	return fmt.Errorf("%s is lost, which keys the hashes of API keys, tokens, sessions and invitations, and the seals of the audit log; restore %s from a backup, or remove %s to have another made: all of these end then, and passwords stay", key, key, sum)
}

// checkSecretSum checks the secret against its checksum, which it writes where there
// is none.
func checkSecretSum(dir, value string) error {
	sum := sha256.Sum256([]byte("checksum of " + secretFile + "\x00" + value))
	want := hex.EncodeToString(sum[:8])
	path := filepath.Join(dir, secretSumFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := writeSecretFile(dir, secretSumFile, want); err != nil {
			return fmt.Errorf("write the checksum of a secret: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the checksum of a secret: %w", err)
	}
	if got := strings.TrimSpace(string(b)); got != want {
		key := filepath.Join(dir, secretFile)
		return fmt.Errorf("%s is damaged or was replaced: its checksum differs from %s; restore %s from a backup, or remove %s if the secret was replaced on purpose", key, path, key, path)
	}
	return nil
}

// operatorToken returns the token that proves access to the data directory. It is
// valid as long as its file exists.
func operatorToken(o Options) (string, error) {
	return readOrMakeValue(o, operator.FileName, account.PrefixOperator)
}

// keptBytes is the number of random bytes in a stored secret.
const secretValueBytes = 32

// readOrMakeValue returns what a file of the data directory holds, prefix and 64
// hexadecimal characters, and makes the file if it is not there.
func readOrMakeValue(o Options, name, prefix string) (string, error) {
	path := filepath.Join(o.Config.Data, name)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return makeValue(o.Config.Data, name, prefix)
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
		o.Logger.Warn("closed a secret to other users of this machine; if one of them may have read it, stop the server and remove the file"+checksumHint(name)+" to create a new one, which invalidates everything made with this one",
			"path", path, "mode", a.Octal())
	}
	return value, nil
}

// checksumHint names the checksum of a file of the data directory, which has to go with it.
func checksumHint(name string) string {
	if name == secretFile {
		return " and " + secretSumFile
	}
	return ""
}

// makeValue writes a new value. The data directory is this process's.
func makeValue(dir, name, prefix string) (string, error) {
	var chance [secretValueBytes]byte
	_, _ = rand.Read(chance[:]) // never fails
	value := prefix + hex.EncodeToString(chance[:])
	// The checksum goes first: without one, the next start writes it.
	err := os.Remove(filepath.Join(dir, name+".sum"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, writeSecretFile(dir, name, value)); err != nil {
		return "", fmt.Errorf("make a secret of the data directory: %w", err)
	}
	return value, nil
}

// writeSecretFile replaces a file of the data directory, all of it or nothing, durably.
// The user of the process alone may read it.
func writeSecretFile(dir, name, value string) (err error) {
	f, err := os.CreateTemp(dir, name+"~") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error says more
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

// syncDirectory makes names in a directory durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
