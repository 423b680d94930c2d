package config

import (
	"fmt"
	"math"
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

// Std returns the duration as a time.Duration.
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

// MarshalText implements encoding.TextMarshaler. It uses the largest unit that is exact.
func (n Bytes) MarshalText() ([]byte, error) {
	for _, unit := range byteUnits {
		if n != 0 && int64(n)%unit.size == 0 {
			return fmt.Appendf(nil, "%d%s", int64(n)/unit.size, unit.suffix), nil
		}
	}
	return []byte("0"), nil
}

// Ratio is a share of a whole, from 0 to 1.
type Ratio float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Ratio) UnmarshalText(b []byte) error {
	parsed, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(parsed >= 0 && parsed <= 1) {
		return fmt.Errorf("%.40q is no ratio: want a number from 0 to 1, such as 0.01", b)
	}
	*r = Ratio(parsed)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (r Ratio) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(r), 'f', -1, 64), nil
}
