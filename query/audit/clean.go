package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Clean returns a copy of r that is safe to write: texts are truncated to their bounds
// and made valid UTF-8, credentials are masked. It does not modify what r refers to.
func Clean(r audit.Record) audit.Record {
	r.Action = audit.Action(cleanLine(string(r.Action), event.MaxActionBytes))
	if r.TargetType == "" {
		r.TargetType = audit.TargetInstance
	}
	r.TargetType = audit.TargetType(cleanLine(string(r.TargetType), event.MaxActionBytes))
	r.Target = cleanText(r.Target, audit.MaxTargetBytes)
	r.RequestID = cleanLine(r.RequestID, event.MaxRequestIDBytes)
	if r.Status < 0 || r.Status > 599 {
		r.Status = 0
	}
	r.Actor = cleanActor(r.Actor)
	r.Metadata = cleanMetadata(r.Metadata)
	return r
}

func cleanActor(a account.Actor) account.Actor {
	if a.Kind == "" {
		a.Kind = account.ActorAnonymous
	}
	a.Credential = cleanLine(a.Credential, event.MaxCredentialBytes)
	a.Address = cleanLine(a.Address, event.MaxAddressBytes)
	a.Client = cleanLine(a.Client, account.MaxClientBytes)
	return a
}

// cleanMetadata keeps the first names in order, up to the limit, and leaves out empty
// values.
func cleanMetadata(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] != "" && name != "" && len(out) < audit.MaxMetadata {
			out[cleanLine(name, event.MaxMetadataNameBytes)] = cleanText(m[name], audit.MaxMetadataBytes)
		}
	}
	return out
}

// cleanText returns s as UTF-8 of at most max bytes without credentials. It may contain
// control characters, as paths and queries do.
func cleanText(s string, max int) string {
	return failure.Cut(strings.ToValidUTF8(failure.MaskKnown(s), "\uFFFD"), max)
}

// cleanLine is cleanText without control characters.
func cleanLine(s string, max int) string {
	s = cleanText(s, max)
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, s)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// queryText are the metadata names whose values reveal what was searched for.
var queryText = []string{"query", "symbol", "pattern"}

// withoutQuery returns a copy of m without the values that reveal what was searched for.
func withoutQuery(m map[string]string) map[string]string {
	m = maps.Clone(m)
	for _, name := range queryText {
		delete(m, name)
	}
	return m
}
