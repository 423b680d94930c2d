package source

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// momentLayouts are the absolute times that since and until accept; a time without a zone
// is in UTC.
var momentLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

const dayLayout = "2006-01-02"

var agoPattern = regexp.MustCompile(`^(\d{1,6}) (second|minute|hour|day|week|month|year)s? ago$`)

// ErrMoment reports a text that is not a time.
var ErrMoment = errors.New(`want a time such as 2026-01-31, 2026-01-31T12:00:00Z, "3 weeks ago", yesterday or "last month"`)

// ParseMoment parses a time and returns it in seconds, or 0 for the empty text: an
// absolute time, a day, "N days ago", "yesterday" or "last week". A day means its first
// second or, if end is set, its last. Errors wrap ErrMoment.
func ParseMoment(text string, now time.Time, end bool) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	if day, err := time.Parse(dayLayout, text); err == nil {
		if end {
			day = day.AddDate(0, 0, 1).Add(-time.Second)
		}
		return clampSeconds(day)
	}
	for _, layout := range momentLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return clampSeconds(t)
		}
	}
	if t, ok := parseRelative(strings.ToLower(text), now); ok {
		return clampSeconds(t)
	}
	return 0, fmt.Errorf("%w, have %.40q", ErrMoment, text)
}

// clampSeconds clamps a time to the range that git can compare; 0 would mean no bound.
func clampSeconds(t time.Time) (int64, error) {
	if t.Year() > 9999 || t.Year() < 0 {
		return 0, fmt.Errorf("%w: want a year from 0 to 9999", ErrMoment)
	}
	return max(t.Unix(), 1), nil
}

// parseRelative parses a time that is relative to now.
func parseRelative(text string, now time.Time) (time.Time, bool) {
	switch text {
	case "now", "today":
		return now, true
	case "yesterday":
		return now.AddDate(0, 0, -1), true
	case "last week":
		return now.AddDate(0, 0, -7), true
	case "last month":
		return now.AddDate(0, -1, 0), true
	case "last year":
		return now.AddDate(-1, 0, 0), true
	}
	m := agoPattern.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	n, _ := strconv.Atoi(m[1]) // at most six digits
	switch m[2] {
	case "month":
		return now.AddDate(0, -n, 0), true
	case "year":
		return now.AddDate(-n, 0, 0), true
	}
	unit := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}[m[2]]
	return now.Add(-time.Duration(n) * unit), true
}
