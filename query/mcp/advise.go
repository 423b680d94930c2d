package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// advice tells an agent how to respond to an error.
type advice struct {
	err error
	// showsError means that the agent sees the error's own text.
	showsError bool
	next       string
}

// advices lists the advice for errors; the first matching row applies. An error without a
// row is internal and not shown to the agent.
var advices = []advice{
	{errArguments, true, "Correct the arguments and call again."},
	{auth.ErrForbidden, true, "Calling again does not help: ask the user for a credential with that scope."},
	{plan.ErrPattern, true, `The pattern is a regular expression (RE2): write \( \[ \{ \. for the characters themselves.`},
	{syntax.ErrInvalid, true, "Narrow it: one repo, fewer refs."},
	{navigate.ErrInvalid, true, "Give the bare name of one symbol, such as NewReader."},
	{source.ErrInvalidRevision, true, "Give the name of a branch or tag, or a commit."},
	{source.ErrInvalidPath, true, "Paths are relative to the root of the repository, without . or .. in them; list_tree and glob show them."},
	{source.ErrInvalidPattern, true, "Give a plain word."},
	{source.ErrMoment, true, ""},
	{source.ErrNoLine, true, ""},
	{source.ErrBinary, true, "It cannot be shown as text."},
	{source.ErrTooLarge, true, "Ask for less, with path."},
	{errBusy, true, "Make fewer calls at once, and call again."},
	{search.ErrBusy, false, "The server is busy. Call again in a few seconds."},
	{source.ErrBusy, false, "The server is busy. Call again in a few seconds."},
	{source.ErrTimeout, false, "It took too long. Narrow it with path, or a later since."},
	{source.ErrNoObject, true, "Calling again does not help. Other files and revisions can still be read."},
	{search.ErrUnavailable, false, "The index cannot be reached now. Call again in a few seconds."},
	{source.ErrUnavailable, false, "Only what is indexed can be read now: the default branch, without history. Leave ref out, or call again later."},
	{context.DeadlineExceeded, false, fmt.Sprintf("It took more than %s. Narrow it with repo, path or include, or use a pattern with longer words in it.", CallTimeout)},
	{context.Canceled, false, "The call was given up."},
	{code.ErrNotFound, true, "Call again without it."}, // a search context
}

// adviseOnError formats an error as text that tells the agent what to do next.
func (c *call) adviseOnError(ctx context.Context, t *tool, err error) string {
	switch {
	case errors.Is(err, code.ErrNotFound) && c.args["repo"] != nil && c.args["repo"] != "":
		return c.adviseRepository(ctx, c.args.getText("repo"))
	case errors.Is(err, source.ErrNoRevision):
		return c.adviseRevision(ctx)
	case errors.Is(err, source.ErrNoPath), errors.Is(err, source.ErrInvalidPath), errors.Is(err, source.ErrBinary), errors.Is(err, source.ErrTooLarge) && (t == readFileTool || t == getBlameTool):
		if p := c.args.getText("path"); p != "" {
			if there := c.whatIsThere(ctx, p); there != "" {
				return there
			}
		}
		if errors.Is(err, source.ErrNoPath) {
			return c.advisePath(t)
		}
	}
	for _, a := range advices {
		if !errors.Is(err, a.err) {
			continue
		}
		if !a.showsError {
			return a.next
		}
		return strings.TrimSpace(strings.TrimRight(err.Error(), ". ") + ". " + a.next)
	}
	c.o.Logger.ErrorContext(ctx, "a tool failed", "tool", t.name, "error", err)
	return "The server failed, which is not the fault of the arguments. Call again later, or go on without."
}

// completeRepository replaces the end of a repository's name, such as kettle, by the full
// name, if the principal may read exactly one repository whose name ends in it after a slash.
// Any other name stays as it is.
func (c *call) completeRepository(ctx context.Context) error {
	name, _ := c.args["repo"].(string)
	if name == "" {
		return nil
	}
	if _, err := c.o.Index.Repository(ctx, name); !errors.Is(err, code.ErrNotFound) {
		return err
	}
	all, err := c.o.Index.Repositories(ctx, "name", strings.ToLower(name))
	if err != nil {
		return err
	}
	ending := slices.DeleteFunc(slices.Clone(all), func(r *corpus.Repository) bool { return !isWholeEnd(r.Name, name) })
	if len(ending) == 1 {
		c.args["repo"] = ending[0].Name
	}
	return nil
}

// maxSuggestions bounds the names that an error message suggests.
const maxSuggestions = 5

// adviseRepository suggests repositories that the agent may have meant.
func (c *call) adviseRepository(ctx context.Context, name string) string {
	all, err := c.o.Index.Repositories(ctx, "name", "")
	if err != nil {
		return fmt.Sprintf("There is no repository %.200q.", name)
	}
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	guesses := spelling.Nearest(name, slices.Values(names), maxSuggestions)
	if len(guesses) == 0 {
		return fmt.Sprintf("There is no repository %.200q. To find it, call list_repos with part of the name as query.", name)
	}
	return fmt.Sprintf("There is no repository %.200q. Did you mean: %s?", name, strings.Join(guesses, ", "))
}

// isWholeEnd reports whether a name equals end or ends in it after a slash, ignoring
// case.
func isWholeEnd(name, end string) bool {
	name, end = strings.ToLower(name), strings.ToLower(end)
	return name == end || strings.HasSuffix(name, "/"+end)
}

// maxRefsShown bounds the branches that an error message names.
const maxRefsShown = 8

func (c *call) adviseRevision(ctx context.Context) string {
	name := ""
	for _, argument := range []string{"ref", "base"} {
		if v, ok := c.args[argument].(string); ok && v != "" {
			name = v
			break
		}
	}
	if head, ok := c.args["head"].(string); ok && name != "" {
		name += " or " + head
	}
	out := fmt.Sprintf("There is no such revision (%.200s) in %s.", name, c.args.getText("repo"))
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return out
	}
	branches, err := c.o.Source.Branches(ctx, r)
	if err != nil || len(branches) == 0 {
		return out + " Nothing of it may be indexed yet; call again later."
	}
	var names []string
	for _, b := range branches[:min(len(branches), maxRefsShown)] {
		names = append(names, b.Ref.Short())
	}
	more := ""
	if len(branches) > maxRefsShown {
		more = ", …"
	}
	return fmt.Sprintf("%s There are %s: %s%s. To find one by part of its name, call list_branches with query.", out, formatCount(len(branches), "branch", "branches"), strings.Join(names, ", "), more)
}

func (c *call) advisePath(t *tool) string {
	path := c.args.getText("path")
	at := ""
	if ref, ok := c.args["ref"].(string); ok && ref != "" {
		at = " at " + ref
	}
	what := "file"
	if t.name == "list_tree" {
		what = "directory"
	}
	return fmt.Sprintf("There is no %s %.200q in %s%s. glob with pattern **/%s finds it wherever it is; list_tree shows what is there.",
		what, path, c.args.getText("repo"), at, path[strings.LastIndexByte(path, '/')+1:])
}
