package code

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrRevisionName reports that a text cannot name a revision in any repository.
var ErrRevisionName = errors.New("not the name of a revision")

// RevisionName is a parsed name of a commit from a client: a branch, a tag, a full ref, a
// full or abbreviated commit ID, or HEAD, optionally followed by steps to an ancestor.
// Parsing is lexical only. The name is safe to pass to git: the rest of git's revision
// syntax is rejected, such as ranges, paths, searches in messages and the reflog.
type RevisionName struct {
	// Head reports whether the name means the default branch; then Refs and Commit are
	// empty.
	Head bool
	// Refs are the possible full names, the likeliest first: a branch comes before a tag,
	// since searches usually read branches.
	Refs []Ref
	// Commit is a full or abbreviated commit ID in lower case; empty if the text cannot
	// be one. A full ID takes precedence over Refs.
	Commit string
	// Steps are ~N and ^N, in git's syntax.
	Steps string
}

// Bounds of a RevisionName.
const (
	// MinCommitPrefix is the minimum length of an abbreviated commit ID.
	MinCommitPrefix = 4
	maxSteps        = 16
	maxStep         = 1_000_000
)

// ParseRevisionName parses s. Errors wrap ErrRevisionName.
func ParseRevisionName(s string) (RevisionName, error) {
	base, steps := s, ""
	if i := strings.IndexAny(s, "~^"); i >= 0 {
		base, steps = s[:i], s[i:]
	}
	n := RevisionName{Steps: steps}
	if err := checkSteps(steps); err != nil {
		return RevisionName{}, fmt.Errorf("%w: %.80q: %w", ErrRevisionName, s, err)
	}
	if base == "HEAD" {
		n.Head = true
		return n, nil
	}
	if err := n.setBase(base); err != nil {
		return RevisionName{}, fmt.Errorf("%w: %w", ErrRevisionName, err)
	}
	return n, nil
}

func (n *RevisionName) setBase(base string) error {
	if strings.HasPrefix(base, "-") {
		return fmt.Errorf("%.80q begins with a dash", base)
	}
	if lower := strings.ToLower(base); isCommitPrefix(lower) {
		n.Commit = lower
	}
	if strings.HasPrefix(base, "refs/") {
		n.Refs = []Ref{Ref(base)}
		return Ref(base).Validate()
	}
	n.Refs = []Ref{BranchRef(base), Ref(tagPrefix + base)}
	if strings.HasPrefix(base, "heads/") || strings.HasPrefix(base, "tags/") {
		n.Refs = append(n.Refs, Ref("refs/"+base))
	}
	if err := n.Refs[0].Validate(); err != nil {
		return err
	}
	return n.Refs[1].Validate()
}

// IsFullCommit reports whether n begins with a full commit ID.
func (n RevisionName) IsFullCommit() bool { return len(n.Commit) == 40 || len(n.Commit) == 64 }

func isCommitPrefix(s string) bool {
	if len(s) < MinCommitPrefix || len(s) > 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// checkSteps checks a run of ~, ~N, ^ and ^N.
func checkSteps(s string) error {
	for count := 0; s != ""; count++ {
		if count == maxSteps {
			return fmt.Errorf("more than %d steps to an ancestor", maxSteps)
		}
		if s[0] != '~' && s[0] != '^' {
			return fmt.Errorf("want ~N or ^N after the name, have %.20q", s)
		}
		end := 1
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(s[1:end]); end > 1 && (err != nil || n > maxStep) {
			return fmt.Errorf("a step of at most %d, have %.20q", maxStep, s[:end])
		}
		s = s[end:]
	}
	return nil
}
