package config

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Secret is a value that is never printed. It is either the value itself or a reference:
// "env:NAME" or "file:PATH".
type Secret struct{ given string }

// hidden replaces a secret wherever one is printed.
const hidden = "hidden"

// NewSecret returns the secret with the given text, in the form of the configuration
// file.
func NewSecret(s string) Secret { return Secret{given: s} }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(b []byte) error { s.given = string(b); return nil }

// MarshalText returns a reference, or "hidden" in place of a value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns a reference, or "hidden" in place of a value.
func (s Secret) String() string {
	if s.given == "" || s.isReference() {
		return s.given
	}
	return hidden
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

func (s Secret) isReference() bool {
	return strings.HasPrefix(s.given, "env:") || strings.HasPrefix(s.given, "file:")
}

// IsZero reports whether the secret is not set.
func (s Secret) IsZero() bool { return s.given == "" }

// maxSecretBytes bounds the size of a secret's file.
const maxSecretBytes = 64 << 10

// These errors explain why a reference yields no secret.
var (
	errNotSet = errors.New("is not set")
	errEmpty  = errors.New("the secret is empty")
)

// Value returns the secret itself and resolves references. It trims white space around a
// secret from a file. An empty value is an error, because it would sign nothing.
func (s Secret) Value() (string, error) {
	value, err := s.readValue()
	if err == nil && value == "" {
		err = errEmpty
	}
	return value, err
}

// checkPlain rejects a text of the form ${NAME}, which was meant as a reference: variables
// are not expanded, and the text itself in a world-readable settings file is not a secret.
func (s Secret) checkPlain() error {
	if name, ok := strings.CutPrefix(s.given, "${"); ok && strings.HasSuffix(name, "}") {
		return fmt.Errorf("a secret is literally ${%.80s; variables are not expanded: write env:%.80s", name, strings.TrimSuffix(name, "}"))
	}
	return nil
}

func (s Secret) readValue() (string, error) {
	if name, ok := strings.CutPrefix(s.given, "env:"); ok {
		value, set := os.LookupEnv(name)
		if !set {
			return "", fmt.Errorf("the environment variable %s of a secret %w", name, errNotSet)
		}
		return value, nil
	}
	path, ok := strings.CutPrefix(s.given, "file:")
	if !ok {
		return s.given, s.checkPlain()
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	if len(b) > maxSecretBytes {
		return "", fmt.Errorf("read a secret: %s has %d bytes, at most %d", path, len(b), maxSecretBytes)
	}
	return strings.TrimSpace(string(b)), nil
}

// File returns the path of the file with the secret, or an empty string if the secret is
// not in a file.
func (s Secret) File() string {
	path, ok := strings.CutPrefix(s.given, "file:")
	if !ok {
		return ""
	}
	return path
}

// inPlace reports whether the settings contain the secret itself.
func (s Secret) inPlace() bool { return s.given != "" && !s.isReference() }

// describeReference returns the reference, and the reason if it yields no secret. It
// hides a secret that is set directly.
func (s Secret) describeReference() string {
	text := s.String()
	if !s.isReference() {
		return text
	}
	_, err := s.Value()
	switch {
	case err == nil:
		return text
	case errors.Is(err, errNotSet):
		return text + " (not set)"
	case errors.Is(err, errEmpty):
		return text + " (empty)"
	}
	return text + " (cannot be read)"
}
