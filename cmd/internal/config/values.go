package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as "30s" or "1h30m".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	parsed, err := time.ParseDuration(string(b))
	if err != nil || parsed < 0 {
		return fmt.Errorf("%.40q is no duration: want a number and a unit, such as 30s or 5m", b)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Std returns the duration as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Bytes is a number of bytes that is written as "64MiB" or as a plain number.
type Bytes int64

var byteUnits = []struct {
	suffix string
	size   int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Bytes) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || v < 0 || v > math.MaxInt64/unit.size {
			break
		}
		*n = Bytes(v * unit.size)
		return nil
	}
	return fmt.Errorf("%.40q is no size: want a whole number and B, KiB, MiB, GiB or TiB, such as 64MiB", b)
}

// MarshalText implements encoding.TextMarshaler, with the largest unit that is
// exact.
func (n Bytes) MarshalText() ([]byte, error) {
	for _, unit := range byteUnits {
		if n != 0 && int64(n)%unit.size == 0 {
			return fmt.Appendf(nil, "%d%s", int64(n)/unit.size, unit.suffix), nil
		}
	}
	return []byte("0"), nil
}

// Secret is a value that is never printed. It is given in place, or as a
// reference: "env:NAME" or "file:PATH".
type Secret struct{ given string }

// hidden stands for a secret wherever one is printed.
const hidden = "hidden"

// NewSecret returns the secret that is given by s, as it would stand in the
// file.
func NewSecret(s string) Secret { return Secret{given: s} }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(b []byte) error { s.given = string(b); return nil }

// MarshalText hides the secret, but shows a reference.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String hides the secret, but shows a reference.
func (s Secret) String() string {
	if s.given == "" || s.isReference() {
		return s.given
	}
	return hidden
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

func (s Secret) isReference() bool {
	return strings.HasPrefix(s.given, "env:") || strings.HasPrefix(s.given, "file:")
}

// IsZero reports whether no secret was given.
func (s Secret) IsZero() bool { return s.given == "" }

// maxSecretBytes bounds the file of a secret.
const maxSecretBytes = 64 << 10

// Value returns the secret itself, reading what it refers to. White space
// around a secret from a file is dropped. An empty value is an error: it would
// sign nothing.
func (s Secret) Value() (string, error) {
	value, err := s.resolve()
	if err == nil && value == "" {
		err = errors.New("the secret is empty")
	}
	return value, err
}

// checkPlain refuses what was meant as a reference: nothing is expanded here, and a
// text that stands in a file of settings for all to read is no secret.
func (s Secret) checkPlain() error {
	if name, ok := strings.CutPrefix(s.given, "${"); ok && strings.HasSuffix(name, "}") {
		return fmt.Errorf("a secret is ${%.80s as it stands, nothing replaces it: write env:%.80s", name, strings.TrimSuffix(name, "}"))
	}
	return nil
}

func (s Secret) resolve() (string, error) {
	if name, ok := strings.CutPrefix(s.given, "env:"); ok {
		value, set := os.LookupEnv(name)
		if !set {
			return "", fmt.Errorf("the environment variable %s of a secret is not set", name)
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
