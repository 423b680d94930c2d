package mirror

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Git accepts commits whose author line is not "author NAME <MAIL> SECONDS ZONE", and old
// importers wrote them. Log and Blame follow one rule for these commits:
//
//   - Name and address are what can be read of them; either may be empty.
//   - A time that cannot be read is the start of 1970, as git log shows it. A time after
//     year 9999 is the end of that year, the last one that RFC 3339 can express.
//   - A zone that RFC 3339 cannot express is UTC.

// maxCommitTime is the end of year 9999.
const maxCommitTime = 253402300799

// parseSeconds parses the time of an author or committer.
func parseSeconds(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = 0
	}
	return time.Unix(min(max(n, 0), maxCommitTime), 0).UTC()
}

// formatRawDate formats "SECONDS ZONE", git's date format raw, in RFC 3339.
func formatRawDate(raw string) string {
	seconds, zone, _ := strings.Cut(raw, " ")
	at, offset := parseSeconds(seconds), 0
	if n, err := strconv.Atoi(zone); err == nil && -2400 < n && n < 2400 && -60 < n%100 && n%100 < 60 {
		offset = (n/100*60 + n%100) * 60
	}
	if local := at.In(time.FixedZone("", offset)); local.Year() <= 9999 {
		at = local
	}
	return at.Format("2006-01-02T15:04:05-07:00")
}

// parsePerson returns what can be read of the name and the address in the rest of an
// author line, which git cannot parse.
func parsePerson(line string) (name, email string) {
	name, rest, ok := strings.Cut(line, "<")
	if !ok {
		// Without an address, the time follows the name, if anything does.
		fields := strings.Fields(line)
		for len(fields) > 0 && strings.Trim(fields[len(fields)-1], "+-0123456789") == "" {
			fields = fields[:len(fields)-1]
		}
		return strings.Join(fields, " "), ""
	}
	email, _, _ = strings.Cut(rest, ">")
	return strings.TrimSpace(name), strings.TrimSpace(email)
}

// readAuthor returns name and address of the author of a commit whose author line git
// cannot parse. They are empty if the commit cannot be read.
func (m *Mirror) readAuthor(ctx context.Context, commit code.CommitID) (name, email string, err error) {
	c, err := m.commit(ctx, string(commit))
	if errors.Is(err, ErrMissing) {
		return "", "", nil
	} else if err != nil {
		return "", "", err
	}
	name, email = parsePerson(c.author)
	return name, email, nil
}
