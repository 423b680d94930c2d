package repolint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// MaxSubject bounds the characters in the first line of a commit message. MinBodyWords is
// the minimum number of words in the rest.
const (
	MaxSubject   = 72
	MinBodyWords = 10
)

// ErrNoBase means that the history does not contain the base commit, as in a shallow
// clone.
var ErrNoBase = errors.New("the history does not have that commit")

var subject = regexp.MustCompile(`^[a-zA-Z0-9./{},_ -]+: \S`)

// CheckMessages checks the messages of the commits after base, without merges, against
// CONTRIBUTING.md.
func CheckMessages(ctx context.Context, root, base string) ([]Finding, error) {
	if err := exec.CommandContext(ctx, "git", "-C", root, "merge-base", "--is-ancestor", base, "HEAD").Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", base, ErrNoBase)
	}
	command := exec.CommandContext(ctx, "git", "-C", root, "log", "--no-merges", "-z", "--format=%h%n%B", base+"..HEAD")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git log in %s: %w: %s", root, err, stderr.Bytes())
	}
	var findings []Finding
	for message := range strings.SplitSeq(string(out), "\x00") {
		if commit, text, ok := strings.Cut(message, "\n"); ok {
			findings = append(findings, checkMessage(commit, text)...)
		}
	}
	return findings, nil
}

// checkMessage returns the findings in the message of a commit.
func checkMessage(commit, text string) []Finding {
	first, body, _ := strings.Cut(text, "\n")
	var findings []Finding
	add := func(format string, args ...any) {
		findings = append(findings, Finding{Rule: "commits", Where: commit, What: fmt.Sprintf(format, args...)})
	}
	if n := len([]rune(first)); n > MaxSubject {
		add("the subject has %d characters, at most %d: %s", n, MaxSubject, first)
	}
	if !subject.MatchString(first) {
		add("the subject is not \"package/path: what it does now\": %s", first)
	}
	if n := len(strings.Fields(body)); n < MinBodyWords {
		add("the body has %d words, at least %d: say what was so before, why it changed, and what it cost", n, MinBodyWords)
	}
	return findings
}
