package syntax

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs testdata/*. Each line of the input of a command is a query. Commands:
//
//	parse [regexp] [case] [quoted] [print]   the tree, the notices or the error; quoted: lines are Go string literals
//	simplify [regexp]                        the tree before and after Simplify
//	compare [regexp] [case] [quoted]         the tree here and that of the established server, and the notices
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			o := Options{Regexp: d.HasArg("regexp"), CaseSensitive: d.HasArg("case")}
			var b strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				text := line
				if d.HasArg("quoted") {
					var err error
					if text, err = strconv.Unquote(line); err != nil {
						d.Fatalf(t, "%s: %v", line, err)
					}
				}
				fmt.Fprintf(&b, "%s\n", line)
				parsed, err := Parse(text, o)
				switch {
				case d.Cmd == "compare":
					writeCompared(t, &b, text, o, parsed, err)
				case err != nil:
					writeError(t, &b, err)
				case d.Cmd == "simplify":
					fmt.Fprintf(&b, "    %s\n    %s\n", dumpTree(parsed.Root), dumpTree(Simplify(parsed.Root)))
				case d.Cmd == "parse":
					writeParsed(&b, parsed)
					if d.HasArg("print") {
						fmt.Fprintf(&b, "    prints %s\n", parsed.Print(o))
					}
				default:
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
			}
			return b.String()
		})
	})
}

func writeError(t *testing.T, b *strings.Builder, err error) {
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrInvalid) {
		t.Fatalf("%v is no *Error", err)
	}
	fmt.Fprintf(b, "    error at column %d (byte %d): %s\n    %s\n", e.Column, e.Position, e.Message, e.Advice)
}

func writeParsed(b *strings.Builder, p *Parsed) {
	b.WriteString("    ")
	dumpParsed(b, p)
	for _, n := range p.Notices {
		writeNotice(b, n)
	}
}

func dumpParsed(b *strings.Builder, p *Parsed) {
	if p.Type != TypeDefault {
		fmt.Fprintf(b, "type=%s ", p.Type)
	}
	if p.Select != SelectDefault {
		fmt.Fprintf(b, "select=%s ", p.Select)
	}
	fmt.Fprintf(b, "%s\n", dumpTree(p.Root))
}

func writeNotice(b *strings.Builder, n Notice) {
	fmt.Fprintf(b, "    %s %d-%d: %s\n", n.Code, n.At.Start, n.At.End, n.Message)
	for _, s := range n.Suggestions {
		fmt.Fprintf(b, "        %s\n", s)
	}
}

// writeCompared writes how a query is read here and by the established server. It checks
// that every query accepted there is accepted here, and that a notice reports differing
// readings, with a query that is read here as the original is read there.
func writeCompared(t *testing.T, b *strings.Builder, text string, o Options, ours *Parsed, err error) {
	theirs := readEstablished(text, o)
	if theirs == nil {
		b.WriteString("    there refused, or not known\n")
	} else {
		fmt.Fprintf(b, "    there %s\n", dumpTree(theirs))
	}
	if err != nil {
		writeError(t, b, err)
	} else {
		b.WriteString("    here  ")
		dumpParsed(b, ours)
		for _, n := range ours.Notices {
			writeNotice(b, n)
		}
	}
	checkCompared(t, text, o, ours, err)
}

// dumpTree writes a readable tree: "x" is text, /x/ an expression, and a ! after it means
// exact case.
func dumpTree(q Query) string {
	switch q := q.(type) {
	case *And:
		return "and(" + dumpAll(q.Children) + ")"
	case *Or:
		return "or(" + dumpAll(q.Children) + ")"
	case *Not:
		return "not(" + dumpTree(q.Child) + ")"
	case *Const:
		return strconv.FormatBool(q.Value)
	case *Text:
		if !q.Regexp {
			return strconv.Quote(q.Pattern) + dumpCase(q.Case) + dumpLines(q.Lines)
		}
		return dumpRegexp(q.Pattern, q.Case) + dumpLines(q.Lines)
	case *File:
		return "file" + dumpRegexp(q.Pattern, q.Case)
	case *Repo:
		return "repo" + dumpRegexp(q.Pattern, q.Case)
	case *Symbol:
		return "sym" + dumpRegexp(q.Pattern, q.Case) + dumpKinds(q.Kinds) + dumpLines(q.Lines)
	case *RepoHas:
		return fmt.Sprintf("repohas[path /%s/ content /%s/]%s", q.Path, q.Content, dumpCase(q.Case))
	case *Owned:
		return "owned=" + q.Owner
	case *FileHas:
		return "filehas" + dumpRegexp(q.Pattern, q.Case)
	case *Is:
		return "is=" + q.Trait.String()
	case *Language:
		return "lang=" + q.Name
	case *Revision:
		return "rev=" + q.Pattern
	case *Archived:
		return "archived=" + q.Want.String()
	case *Fork:
		return "fork=" + q.Want.String()
	case *Visibility:
		return "visibility=" + q.Want.String()
	case *Context:
		return "context=" + q.Name
	case *RepoSet:
		return fmt.Sprintf("reposet=%q", q.Names)
	}
	return fmt.Sprintf("%T", q)
}

func dumpAll(qs []Query) string {
	var parts []string
	for _, q := range qs {
		parts = append(parts, dumpTree(q))
	}
	return strings.Join(parts, " ")
}

func dumpKinds(kinds []Kinds) string {
	s := ""
	for _, k := range kinds {
		s += "[" + dumpNot(k.Not) + "kind " + strings.Join(k.Words, ",") + "]"
	}
	return s
}

func dumpLines(lines []Line) string {
	s := ""
	for _, l := range lines {
		s += "[" + dumpNot(l.Not) + "line " + dumpRegexp(l.Pattern, l.Case) + "]"
	}
	return s
}

func dumpNot(not bool) string {
	if not {
		return "not "
	}
	return ""
}

func dumpRegexp(pattern string, c Case) string { return "/" + pattern + "/" + dumpCase(c) }

func dumpCase(c Case) string {
	return [...]string{CaseDefault: "?", CaseYes: "!", CaseNo: ""}[c]
}
