package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Hashing sets the cost of checking a password, for the server and for attackers. The
// zero value is the minimum that OWASP recommends: 19 MiB, two passes, one thread.
type Hashing struct {
	MemoryKiB uint32
	Passes    uint32
	// Concurrency bounds concurrent hash computations, Waiting the number of waiting
	// ones, and Wait how long each waits; beyond these bounds the error is ErrBusy.
	Concurrency int
	Waiting     int
	Wait        time.Duration
}

// Defaults and bounds of Hashing.
const (
	DefaultMemoryKiB   = 19 << 10
	DefaultPasses      = 2
	DefaultConcurrency = 2
	DefaultWaiting     = 256 // more addresses than most attackers have; each waiter is a request
	DefaultWait        = 5 * time.Second
	// maxMemoryKiB, maxPasses and maxThreads bound the parameters of a stored hash.
	maxMemoryKiB = 1 << 20
	maxPasses    = 16
	maxThreads   = 16

	saltBytes   = 16
	hashedBytes = 32
)

func (h *Hashing) ensureDefaults() {
	setDefault(&h.MemoryKiB, DefaultMemoryKiB)
	setDefault(&h.Passes, DefaultPasses)
	setDefault(&h.Concurrency, DefaultConcurrency)
	setDefault(&h.Waiting, DefaultWaiting)
	setDefault(&h.Wait, DefaultWait)
}

func (h *Hashing) validate() error {
	if h.MemoryKiB > maxMemoryKiB || h.Passes > maxPasses || h.Concurrency < 0 || h.Waiting < 0 || h.Wait < 0 {
		return errors.New("auth: hashing is limited to 1 GiB and 16 passes, and bounds must not be negative")
	}
	return nil
}

// hasher hashes a few passwords at a time: each takes memory and a processor, and
// sign-ins must not take them from searches.
type hasher struct {
	o       Hashing
	queue   *hashQueue
	metrics *metrics
	// unknownUserHash is a hash that matches no password. It is checked for unknown
	// users, so that they take as long as known ones.
	unknownUserHash string
}

func newHasher(o Hashing, m *metrics) *hasher {
	h := &hasher{o: o, queue: newHashQueue(o.Concurrency, o.Waiting), metrics: m}
	salt, sum := make([]byte, saltBytes), make([]byte, hashedBytes)
	_, _ = rand.Read(salt) // never fails
	_, _ = rand.Read(sum)
	h.unknownUserHash = phc{memory: o.MemoryKiB, passes: o.Passes, threads: 1, salt: salt, sum: sum}.String()
	return h
}

// acquireSlot acquires a slot. The caller must call the returned function to release it.
func (h *hasher) acquireSlot(ctx context.Context, turn hashTurn) (release func(), err error) {
	if err := h.queue.acquire(ctx, turn, h.o.Wait); err != nil {
		if errors.Is(err, ErrBusy) {
			h.metrics.hashingsRefused.Inc()
		}
		return nil, err
	}
	return h.queue.release, nil
}

// hashPassword returns the hash of a new password in PHC string format.
func (h *hasher) hashPassword(ctx context.Context, turn hashTurn, password string) (string, error) {
	release, err := h.acquireSlot(ctx, turn)
	if err != nil {
		return "", err
	}
	defer release()
	p := phc{memory: h.o.MemoryKiB, passes: h.o.Passes, threads: 1, salt: make([]byte, saltBytes)}
	_, _ = rand.Read(p.salt) // never fails
	p.sum = h.deriveHash(p, password, hashedBytes)
	return p.String(), nil
}

// matchesHash reports whether a password matches the hash, and whether the hash was
// computed with other parameters than the current ones. A hash that cannot be parsed and
// an empty hash take as long to check and never match.
func (h *hasher) matchesHash(ctx context.Context, turn hashTurn, hash, password string) (matches, stale bool, err error) {
	p, readable := parsePHC(hash)
	if !readable {
		p, _ = parsePHC(h.unknownUserHash)
	}
	release, err := h.acquireSlot(ctx, turn)
	if err != nil {
		return false, false, err
	}
	defer release()
	sum := h.deriveHash(p, password, len(p.sum))
	matches = subtle.ConstantTimeCompare(sum, p.sum) == 1 && readable
	return matches, p.memory != h.o.MemoryKiB || p.passes != h.o.Passes || p.threads != 1, nil
}

// deriveHash computes the hash. It normalizes the password with NFKC, as NIST SP 800-63B
// recommends, because different machines encode the same typed password differently.
func (h *hasher) deriveHash(p phc, password string, size int) []byte {
	h.metrics.hashings.Inc()
	return argon2.IDKey(norm.NFKC.Bytes([]byte(password)), p.salt, p.passes, p.memory, p.threads, uint32(size)) //nolint:gosec // at most 64
}

// phc is an argon2id hash with its parameters.
type phc struct {
	memory, passes uint32
	threads        uint8
	salt, sum      []byte
}

// String returns the hash in PHC string format.
func (p phc) String() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.passes, p.threads,
		b64.EncodeToString(p.salt), b64.EncodeToString(p.sum))
}

// parsePHC parses the output of String, within the bounds on the cost of a hash.
func parsePHC(text string) (phc, bool) {
	var p phc
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, false
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.threads); err != nil || n != 3 {
		return p, false
	}
	var err, errSum error
	p.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	p.sum, errSum = base64.RawStdEncoding.DecodeString(parts[5])
	return p, err == nil && errSum == nil && p.isBounded()
}

func (p phc) isBounded() bool {
	return p.threads >= 1 && p.threads <= maxThreads && p.passes >= 1 && p.passes <= maxPasses &&
		p.memory >= 8*uint32(p.threads) && p.memory <= maxMemoryKiB &&
		len(p.salt) >= 8 && len(p.salt) <= 64 && len(p.sum) >= 16 && len(p.sum) <= 64
}
