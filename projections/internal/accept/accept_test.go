package accept

import (
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func at(offset event.Offset) event.Position {
	return event.Position{Topic: event.TopicEvents, Partition: 1, Offset: offset}
}

func TestRevision(t *testing.T) {
	since := at(10)
	elsewhere := event.Position{Topic: event.TopicEvents, Partition: 2, Offset: 1}
	for _, c := range []struct {
		name      string
		ev        event.RevisionIndexed
		since     *event.Position
		ref, base Ref
		want      Verdict
	}{
		{"first", event.RevisionIndexed{Commit: "a", Cause: at(10)}, &since, Ref{}, Ref{}, Take},
		{"not registered", event.RevisionIndexed{Commit: "a", Cause: at(10)}, nil, Ref{}, Ref{}, Unregistered},
		{"of an earlier life", event.RevisionIndexed{Commit: "a", Cause: at(9)}, &since, Ref{}, Ref{}, Unregistered},
		{"appended twice", event.RevisionIndexed{Commit: "a", Cause: at(12)}, &since, Ref{"a", at(12)}, Ref{}, Duplicate},
		{"overtaken", event.RevisionIndexed{Commit: "a", Cause: at(12)}, &since, Ref{"b", at(13)}, Ref{}, Duplicate},
		{"overtaken by deletion", event.RevisionIndexed{Commit: "a", Cause: at(12)}, &since, Ref{"", at(13)}, Ref{}, Duplicate},
		{"deleted twice", event.RevisionIndexed{Cause: at(13)}, &since, Ref{"", at(13)}, Ref{}, Duplicate},
		{"same cause, moved on", event.RevisionIndexed{Commit: "b", BaseRef: "r", BaseCommit: "a", Cause: at(12)}, &since, Ref{"a", at(12)}, Ref{Commit: "a"}, Take},
		{"same commit, later cause", event.RevisionIndexed{Commit: "a", BaseRef: "r", BaseCommit: "a", Cause: at(14)}, &since, Ref{"a", at(12)}, Ref{Commit: "a"}, Take},
		{"wrong base", event.RevisionIndexed{Commit: "c", BaseRef: "r", BaseCommit: "b", Cause: at(14)}, &since, Ref{"a", at(12)}, Ref{Commit: "a"}, WrongBase},
		{"base is gone", event.RevisionIndexed{Commit: "c", BaseRef: "r", BaseCommit: "b", Cause: at(14)}, &since, Ref{}, Ref{}, WrongBase},
		{"deletion needs no base", event.RevisionIndexed{BaseRef: "r", BaseCommit: "b", Cause: at(14)}, &since, Ref{"a", at(12)}, Ref{"a", at(12)}, Take},
		{"cause of another partition", event.RevisionIndexed{Commit: "a", Cause: elsewhere}, &since, Ref{"b", at(12)}, Ref{}, Take},
	} {
		if got := Revision(&c.ev, c.since, c.ref, c.base); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDefaultBranch(t *testing.T) {
	for _, c := range []struct {
		known string
		ev    event.RevisionIndexed
		want  string
	}{
		{"main", event.RevisionIndexed{DefaultBranch: "trunk"}, "trunk"},
		{"main", event.RevisionIndexed{Ref: "refs/heads/x", Commit: "a"}, "main"},
		{"", event.RevisionIndexed{Ref: "refs/heads/x", Commit: "a"}, "x"},
		{"", event.RevisionIndexed{Ref: "refs/heads/x"}, ""},
		{"", event.RevisionIndexed{Ref: "refs/tags/x", Commit: "a"}, ""},
	} {
		if got := DefaultBranch(c.known, &c.ev); got != c.want {
			t.Errorf("%q, %+v: %q, want %q", c.known, c.ev, got, c.want)
		}
	}
}

func TestCollides(t *testing.T) {
	repo := func(kind code.HostKind, name, url string) code.Repository {
		return code.Repository{Kind: kind, Name: name, CloneURL: url}
	}
	known := repo(code.GitHub, "github.com/a/b", "https://github.com/a/b.git")
	for _, c := range []struct {
		name string
		next code.Repository
		want bool
	}{
		{"same", known, false},
		{"renamed", repo(code.GitHub, "github.com/c/d", "https://github.com/c/d.git"), false},
		{"over ssh", repo(code.GitHub, "github.com/c/d", "git@github.com:c/d.git"), false},
		{"host moved", repo(code.GitHub, "git.example.com/a/b", "https://git.example.com/a/b.git"), false},
		{"other kind", repo(code.GitLab, "github.com/a/b", "https://github.com/a/b.git"), true},
		{"other identity", repo(code.GitHub, "git.example.com/x/y", "https://git.example.com/x/y.git"), true},
	} {
		if got := Collides(known, c.next); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
