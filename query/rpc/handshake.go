package rpc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// The paths are those of sessions of searches, of sessions about a repository, of the state of
	// the shard, of operations, and of git reads. protocol and the headers are those of the upgrade.
	sessionPath      = "/shard/session"
	repositoryPath   = "/shard/repository"
	statePath        = "/shard/state"
	operationPath    = "/shard/operation"
	gitPath          = "/git/read"
	protocol         = "quarry-shard"
	headerHandshake  = "Quarry-Shard"
	headerPartitions = "Quarry-Shard-Partitions"
	// headerReuse says that a connection may have one session after another.
	headerReuse = "Quarry-Shard-Reuse"
	// maxClockSkew bounds the difference of the clocks of two peers, and so the time for
	// which an overheard handshake is valid.
	maxClockSkew = time.Minute
	// MinSecretBytes is the minimum length of a secret.
	MinSecretBytes = 32
	// maxCallerBytes bounds the description of a caller.
	maxCallerBytes = 256 << 10
)

// Reasons to refuse a session.
var (
	errWrongSecret = errors.New("the peer has another secret")
	errVersion     = errors.New("the releases of the peers differ by more than one version of the messages")
	errClock       = fmt.Errorf("the clocks of the peers differ by more than %v", maxClockSkew)
	errHandshake   = errors.New("the handshake cannot be read")
)

// handshake is the beginning of a session.
type handshake struct {
	version int
	at      time.Time
	caller  []byte
}

// signHeader returns the handshake as the value of a header of a request for a path.
func (h *handshake) signHeader(path string, secret []byte) string {
	text := fmt.Sprintf("v=%d t=%d caller=%s", h.version, h.at.Unix(), base64.RawURLEncoding.EncodeToString(h.caller))
	return text + " mac=" + hex.EncodeToString(computeMAC(secret, path, text))
}

func computeMAC(secret []byte, path, text string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("quarry " + path + "\n" + text))
	return m.Sum(nil)
}

// readHandshake reads and checks the value of a header of a request for a path. The version is
// read from a handshake of any version, to name it.
func readHandshake(path, value string, secret []byte, now time.Time) (*handshake, error) {
	text, mac, found := strings.Cut(value, " mac=")
	fields := strings.Split(text, " ")
	if !found || len(fields) < 3 || len(value) > 2*maxCallerBytes {
		return nil, errHandshake
	}
	version, err := strconv.Atoi(strings.TrimPrefix(fields[0], "v="))
	if err != nil {
		return nil, errHandshake
	}
	if version < Version-1 || version > Version+1 {
		return nil, fmt.Errorf("%w: the caller has version %d and this process %d", errVersion, version, Version)
	}
	sum, err := hex.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, computeMAC(secret, path, text)) {
		return nil, errWrongSecret
	}
	seconds, err := strconv.ParseInt(strings.TrimPrefix(fields[1], "t="), 10, 64)
	caller, err2 := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(fields[2], "caller="))
	if err != nil || err2 != nil || len(caller) > maxCallerBytes {
		return nil, errHandshake
	}
	h := &handshake{version, time.Unix(seconds, 0), caller}
	if skew := now.Sub(h.at); skew > maxClockSkew || -skew > maxClockSkew {
		return nil, fmt.Errorf("%w: by %v", errClock, skew.Round(time.Second))
	}
	return h, nil
}

// formatPartitions returns partitions as the value of a header.
func formatPartitions(partitions []int32) string {
	text := make([]string, len(partitions))
	for i, p := range partitions {
		text[i] = strconv.Itoa(int(p))
	}
	return strings.Join(text, ",")
}
