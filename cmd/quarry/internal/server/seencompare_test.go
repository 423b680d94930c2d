package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// withoutNumber replaces the number of a repository, since numbers depend on the order of
// registration (docs/adr/0018).
func withoutNumber(answer string, n code.RepositoryNumber) string {
	return regexp.MustCompile(fmt.Sprintf(`((?i:"|repo|repository)(?i:id)\\*"?:|repository |/api/repos/)%d\b`, n)).ReplaceAllString(answer, "${1}0")
}

// concealed lists the members that are zero or missing for callers who may not see
// everything.
var concealed = map[string]bool{
	"filesSkipped": true, "contentBytesLoaded": true, "indexBytesLoaded": true, "shardFilesConsidered": true, "filesConsidered": true,
	"filesLoaded": true, "shardsScanned": true, "shardsSkipped": true, "shardsSkippedFilter": true, "ngramMatches": true, "ngramLookups": true,
	"regexpsConsidered": true, "appliedPosition": true,
	"duration": true, "wait": true, "matchTreeConstruction": true, "matchTreeSearch": true, "micros": true,
	"parseMicros": true, "waitMicros": true, "planMicros": true, "candidatesMicros": true, "verifyMicros": true, "rankMicros": true, "renderMicros": true, "totalMicros": true,
}

// counted matches a concealed member that is not empty, and a position that is not
// encrypted.
var counted = func() *regexp.Regexp {
	names := slices.Sorted(maps.Keys(concealed))
	return regexp.MustCompile(`"(` + strings.Join(names, "|") + `)\\?":(\{|\[\{|[1-9]).{0,80}|"position\\?":\\?"\d+:.{0,80}`)
}()

// times lists the members that differ in every answer.
var times = map[string]bool{
	"stages": true, "indexedAt": true, "receivedAt": true, "lagSeconds": true, "staleSeconds": true,
	"reconciliation": true, "segments": true, "score": true, "reasons": true, "uploadedAt": true,
}

// eventPosition matches a position of the event stream or of a search. Positions are
// encrypted, so no two are equal, except those of searches for owners.
var eventPosition = regexp.MustCompile(`(id: |"position":")([\w-]{40,}|\d+:[\d:,]+)`)

// uploadID matches the ID of a precise index, the checksum of an object that contains the ID
// and the time of its upload.
var uploadID = regexp.MustCompile(`("id":")[0-9a-f]{32}(","repoId")`)

// withoutTimes parses each JSON document of an answer and removes the members that may
// differ.
func withoutTimes(t *testing.T, answer string) any {
	t.Helper()
	answer = regexp.MustCompile(`, last at [^)]*`).ReplaceAllString(answer, "") // in the text result of a tool
	answer = eventPosition.ReplaceAllString(answer, "$1")
	answer = uploadID.ReplaceAllString(answer, "$1$2")
	var out []any
	var last any // element of out that is not an empty line
	joined := false
	for line := range strings.Lines(answer) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if line == "" && joined {
			joined = false // it ends the part that was added to the part before it
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			v = line
		}
		if v = removeConcealed(v); joinParts(last, v) {
			joined = true
			continue
		}
		if out = append(out, v); line != "" {
			last = v
		}
	}
	return out
}

// joinParts adds the files and repositories of a part of a streamed search to the part
// before it, because the number of parts depends on how long the search takes. It reports
// whether both are parts.
func joinParts(before, part any) bool {
	into, ok := before.(map[string]any)
	from, also := part.(map[string]any)
	if !ok || !also || into["type"] != "chunk" || from["type"] != "chunk" {
		return false
	}
	for _, list := range []string{"files", "repositoryInfo"} {
		all, _ := into[list].([]any)
		more, _ := from[list].([]any)
		for _, v := range more {
			if !slices.ContainsFunc(all, func(known any) bool { return reflect.DeepEqual(known, v) }) {
				all = append(all, v)
			}
		}
		into[list] = all
	}
	stats, _ := into["stats"].(map[string]any)
	more, _ := from["stats"].(map[string]any)
	for name, n := range more {
		if sum, ok := stats[name].(float64); ok {
			stats[name] = sum + n.(float64)
		}
	}
	return true
}

func removeConcealed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if concealed[name] || times[name] {
				delete(v, name)
			} else {
				v[name] = removeConcealed(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = removeConcealed(v[i])
		}
	}
	return v
}
