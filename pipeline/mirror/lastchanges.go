package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of LastChanges: commits that are read, the time for them, and bytes of a path, a
// subject or a name. Changes before them are not found.
const (
	maxLastChanges     = 5000
	lastChangesTimeout = 3 * time.Second
	maxChangeField     = 4096
)

// changeFormat is logFormat without refs, of which git would read all, and without the body.
var changeFormat = strings.NewReplacer("%D", "", "%b", "").Replace(logFormat)

// LastChanges returns the newest commits that changed a path and, if it is a directory, each
// of its entries by name. The key of the path's own commit is "". Commits that are further
// back than the bounds are missing, merges are not considered, and entries have no refs and no
// body. isCut means that the time ended before everything was found.
func (m *Mirror) LastChanges(ctx context.Context, commit code.CommitID, path string, names []string) (
	found map[string]LogEntry, isCut bool, err error,
) {
	found = make(map[string]LogEntry, len(names)+1)
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	below := ""
	if path != "" {
		below = path + "/"
	}
	reading, stop := context.WithTimeout(ctx, lastChangesTimeout)
	defer stop()
	// A commit begins with the ID of the one that is read, which no path in it contains.
	mark := "commit " + string(commit)
	args := []string{
		"log", "-z", "--no-color", "--no-show-signature", "--encoding=UTF-8", "--date=raw", "--no-merges", "--name-only", "--no-renames",
		"--format=tformat:" + mark + "%x00" + changeFormat, "--max-count=" + strconv.Itoa(maxLastChanges),
	}
	err = m.runLog(reading, args, LogQuery{Commit: commit, Path: path}, func(r io.Reader) error {
		var fields [][]byte
		var entry LogEntry
		return eachToken(r, maxChangeField, func(token []byte) {
			switch {
			case string(bytes.TrimPrefix(token, []byte("\n"))) == mark:
				fields = fields[:0]
			case len(fields) < logFields:
				if fields = append(fields, bytes.Clone(token)); len(fields) < logFields {
					return
				}
				entry = newLogEntry(fields)
				if _, known := found[""]; !known {
					found[""] = entry
				}
			default:
				name, isBelow := strings.CutPrefix(code.SpellPath(string(bytes.TrimPrefix(token, []byte("\n")))), below)
				name, _, _ = strings.Cut(name, "/")
				if isBelow && wanted[name] {
					found[name] = entry
					delete(wanted, name)
				}
			}
			if len(wanted) == 0 && len(found) > 0 {
				stop()
			}
		})
	})
	if err == nil || ctx.Err() != nil {
		return found, false, err
	}
	if len(wanted) == 0 && len(found) > 0 {
		return found, false, nil
	}
	if errors.Is(reading.Err(), context.DeadlineExceeded) {
		return found, true, nil
	}
	return found, false, err
}
