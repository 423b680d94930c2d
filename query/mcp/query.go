package mcp

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// query is what search, grep and glob look for.
type query struct {
	// text is a query of the query language; nil means pattern.
	text *syntax.Parsed
	// pattern is a regular expression on contents, or plain text if literal is set;
	// empty looks for files.
	pattern string
	literal bool
	fold    bool
	// path is a part of the path; glob and exclude are expressions that it must and
	// must not match.
	path, glob, exclude string
	repo, ref           string
	// globArgument is the name of the argument that has the glob.
	globArgument string
}

// setPaths sets the globs that the argument named include and the argument exclude have;
// empty is none. A glob to include that begins with ! is one to exclude.
func (q *query) setPaths(include, glob, exclude string) (err error) {
	if negated, ok := strings.CutPrefix(glob, "!"); ok {
		if exclude != "" {
			negated += "," + exclude
		}
		return q.setExclude(negated)
	}
	q.globArgument = include
	if q.glob, err = globExpression(include, glob); err != nil {
		return err
	}
	return q.setExclude(exclude)
}

// setExclude sets the globs of paths to leave out.
func (q *query) setExclude(globs string) (err error) {
	q.exclude, err = globExpression("exclude", globs)
	return err
}

// globExpression returns the expression for paths of a list of globs with commas
// between them, which is the value of an argument.
func globExpression(argument, globs string) (string, error) {
	if globs == "" {
		return "", nil
	}
	list := globs
	if strings.Contains(globs, ",") && !strings.Contains(globs, "{") {
		list = "{" + globs + "}"
	}
	expression, err := syntax.GlobRegexp(list)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %.200q is no glob: %w", errArguments, argument, globs, err)
	}
	return expression, nil
}

// parsed returns q as a query tree.
func (q *query) parsed() *syntax.Parsed {
	letters := syntax.CaseYes
	if q.fold {
		letters = syntax.CaseNo
	}
	var all []syntax.Query
	out := &syntax.Parsed{}
	if q.text != nil {
		*out = *q.text
		all = append(all, q.text.Root)
	} else if q.pattern != "" {
		all = append(all, &syntax.Text{Pattern: q.pattern, Regexp: !q.literal, Case: letters})
	} else {
		out.Type = syntax.TypeFile
	}
	if q.glob != "" {
		all = append(all, &syntax.File{Pattern: q.glob, Case: syntax.CaseYes})
	}
	if q.path != "" {
		all = append(all, &syntax.File{Pattern: regexp.QuoteMeta(q.path), Case: syntax.CaseYes})
	}
	if q.exclude != "" {
		all = append(all, &syntax.Not{Child: &syntax.File{Pattern: q.exclude, Case: syntax.CaseYes}})
	}
	if q.repo != "" {
		all = append(all, &syntax.RepoSet{Names: []string{q.repo}})
	}
	if q.ref != "" && q.ref != syntax.DefaultRevision {
		all = append(all, &syntax.Revision{Pattern: q.ref})
	}
	out.Root = all[0]
	if len(all) > 1 {
		out.Root = &syntax.And{Children: all}
	}
	if q.text == nil {
		out.Text = out.Root.String()
	}
	return out
}

// search shows what is found of q, or what else could be looked for.
func (c *call) search(ctx context.Context, q *query, r search.Request, show func(*search.Result)) error {
	if q.repo != "" {
		if _, err := c.o.Sight.Repository(ctx, q.repo); err != nil {
			return err
		}
	}
	view, err := c.o.Sight.View(ctx)
	if err != nil {
		return err
	}
	defer view.Release()
	r.Query = q.parsed()
	found, err := c.o.Searcher.Search(ctx, view, r)
	if err != nil {
		return err
	}
	defer found.Release()
	if found.Stats.Matches == 0 && found.Exhaustive {
		return c.suggest(ctx, view, q, found)
	}
	show(found)
	return nil
}

// Bounds of suggestions.
const (
	maxProbes       = 3
	maxProbeMatches = 99
)

// suggest answers a search without matches: it says which arguments select nothing,
// and what a few other searches would find.
func (c *call) suggest(ctx context.Context, view search.View, q *query, found *search.Result) error {
	c.linef("Found no matches.")
	before, notices := c.out.b.Len(), q.completeNotices(found.Notices)
	if q.repo != "" { // suggestRef says more of its branches
		notices = slices.DeleteFunc(slices.Clone(notices), func(n syntax.Notice) bool { return filterKey(n) == "rev" })
	}
	c.writeNotices(notices, q.argumentOf)
	if !slices.ContainsFunc(notices, func(n syntax.Notice) bool { return len(n.Suggestions) > 0 }) {
		before = c.out.b.Len() // nothing yet says what to do
	}
	c.related(found.Related)
	c.suggestRef(ctx, q.repo, q.ref)
	if q.globArgument == "pattern" {
		if err := c.suggestFiles(ctx, view, q); err != nil {
			return err
		}
	}
	probes := 0
	for _, other := range q.others() {
		if probes == maxProbes {
			break
		}
		probes++
		found, err := c.o.Searcher.Search(ctx, view, search.Request{Query: other.parsed(), Matches: maxProbeMatches, Display: 1, WithoutAdvice: true})
		if err != nil {
			return nil // there are no matches, which is an answer
		}
		n, files := found.Stats.Matches, found.Stats.Files
		found.Release()
		if n > maxProbeMatches {
			c.linef("There are more than %d matches %s.", maxProbeMatches, other.how)
		} else if n > 0 {
			c.linef("There are matches %s: %d in %s.", other.how, n, plural(files, "file", "files"))
		}
	}
	if c.out.b.Len() == before {
		c.linef("%s", q.nextStep())
	}
	return nil
}

// suggestFiles names the files whose paths have the letters of a glob that finds nothing.
func (c *call) suggestFiles(ctx context.Context, view search.View, q *query) error {
	letters := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("*?[]{},!/\\ ", r) {
			return -1
		}
		return r
	}, c.args.text("pattern"))
	if letters == "" || len(letters) > search.MaxFileLetters {
		return nil
	}
	found, err := c.o.Searcher.FindFiles(ctx, view, search.FileRequest{Letters: letters, Repository: q.repo, Limit: maxSuggestions})
	if err != nil || len(found.Files) == 0 {
		return err
	}
	c.linef("Paths with these letters:")
	for _, f := range found.Files {
		c.linef("[%s] %s", f.Repo.Name, pathText(f.Path))
	}
	return nil
}

// nextStep says what to try where nothing else helps.
func (q *query) nextStep() string {
	switch {
	case q.text == nil && q.pattern == "":
		return "Try a shorter name with * around it."
	case q.text == nil && strings.Contains(q.pattern, " "):
		return "The pattern has to be within one line: search finds words that are apart."
	case q.text == nil && (bareName.MatchString(q.pattern)):
		return "No file that is searched has that text; list_branches says which branches are searched, and binary and very large files are not."
	}
	return "Try fewer or shorter words."
}

// suggestRef says so if a ref is not indexed, and how it can be read if it is a
// branch all the same.
func (c *call) suggestRef(ctx context.Context, repo, ref string) {
	if repo == "" || ref == "" || ref == syntax.DefaultRevision || ref == syntax.AllRevisions {
		return
	}
	r, err := c.o.Sight.Repository(ctx, repo)
	if err != nil {
		return
	}
	branches, err := c.o.Source.Branches(ctx, r)
	if err != nil {
		return
	}
	var indexed []string
	unindexed := ""
	for _, b := range branches {
		switch {
		case b.Indexed && strings.Contains(string(b.Ref), ref):
			return
		case b.Indexed && len(indexed) < maxRefsTold:
			indexed = append(indexed, b.Ref.Short())
		case !b.Indexed && (string(b.Ref) == ref || b.Ref.Short() == ref):
			unindexed = b.Ref.Short()
		}
	}
	c.linef("No indexed branch of %s has %.200q in its name; indexed are: %s.", repo, ref, strings.Join(indexed, ", "))
	if unindexed != "" {
		c.linef("%s is a branch that is not indexed: it cannot be searched, but read_file and list_tree read it with ref=%q.", unindexed, unindexed)
	}
}

// other is a query that is a little wider, and how.
type other struct {
	query
	how string
}

// others are the queries that q's writer may have meant, the narrowest first.
func (q *query) others() []other {
	var all []other
	with := func(how string, change func(*query)) {
		o := other{*q, how}
		change(&o.query)
		all = append(all, o)
	}
	if q.pattern != "" && !q.fold {
		with("with ignoreCase=true", func(o *query) { o.fold = true })
	}
	if q.pattern != "" && strings.ContainsAny(q.pattern, `()[]{}.*+?|^$`) && !strings.Contains(q.pattern, `\`) && !q.literal {
		with("with literal=true, as plain text", func(o *query) { o.literal = true })
	}
	if q.pattern != "" && q.path+q.glob != "" {
		with("without path and include", func(o *query) { o.path, o.glob = "", "" })
	}
	if q.exclude != "" {
		with("without exclude", func(o *query) { o.exclude = "" })
	}
	if q.pattern == "" && q.path != "" {
		with("without path", func(o *query) { o.path = "" })
	}
	if q.ref != "" {
		with("on default branches, without ref", func(o *query) { o.ref = "" })
	}
	if q.repo != "" {
		with("in other repositories, without repo", func(o *query) { o.repo = "" })
	}
	return all
}
