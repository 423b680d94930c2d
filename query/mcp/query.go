package mcp

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// fileQuery is the query of search, grep or glob.
type fileQuery struct {
	// text is a query in the query language; if nil, pattern applies.
	text *syntax.Parsed
	// pattern is a regular expression for file contents, or plain text if literal is set.
	// If empty, the query looks for files.
	pattern string
	literal bool
	fold    bool // ignore case: of the pattern or, if there is none, of the paths
	// path is a part of the path. glob and exclude are regular expressions that the path
	// must and must not match.
	path, glob, exclude string
	repo, ref           string
	// globArgument is the name of the argument that holds the glob.
	globArgument string
}

// setPaths sets the globs of the argument named include and of the argument exclude; an
// empty one adds no condition. A glob to include that begins with ! is excluded instead.
func (q *fileQuery) setPaths(include, glob, exclude string) (err error) {
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

// setExclude sets the globs of paths to exclude.
func (q *fileQuery) setExclude(globs string) (err error) {
	q.exclude, err = globExpression("exclude", globs)
	return err
}

// globExpression returns the regular expression for paths that match a comma-separated
// list of globs, which is the value of an argument.
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
		return "", fmt.Errorf("%w: %s: %.200q is not a valid glob: %w", errArguments, argument, globs, err)
	}
	return expression, nil
}

// buildQuery returns q as a query tree.
func (q *fileQuery) buildQuery() *syntax.Parsed {
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
	pathLetters := syntax.CaseYes
	if q.text == nil && q.pattern == "" {
		pathLetters = letters
	}
	if q.glob != "" {
		all = append(all, &syntax.File{Pattern: q.glob, Case: pathLetters})
	}
	if q.path != "" {
		all = append(all, &syntax.File{Pattern: regexp.QuoteMeta(q.path), Case: pathLetters})
	}
	if q.exclude != "" {
		all = append(all, &syntax.Not{Child: &syntax.File{Pattern: q.exclude, Case: pathLetters}})
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

// runSearch shows the matches of q, or suggests other searches if there are none.
func (c *call) runSearch(ctx context.Context, q *fileQuery, r search.Request, show func(*search.Result)) error {
	if q.repo != "" {
		if _, err := c.o.Index.Repository(ctx, q.repo); err != nil {
			return err
		}
	}
	view, err := c.openView(ctx)
	if err != nil {
		return err
	}
	defer view.Release()
	r.Query = q.buildQuery()
	found, err := c.o.Searcher.Search(ctx, view, r)
	if err != nil {
		return err
	}
	defer found.Release()
	if found.Stats.Matches == 0 && found.Exhaustive {
		return c.suggestSearches(ctx, view, q, found)
	}
	show(found)
	return nil
}

// openView returns a view for a search. If the server is behind the log, or a part of the
// index cannot be reached, the answer says so.
func (c *call) openView(ctx context.Context) (corpus.View, error) {
	if c.o.Behind() {
		c.addLinef("This server is behind: what was pushed recently may be missing. Try again in some seconds.")
	}
	view, err := c.o.Index.View(ctx)
	if err == nil && len(search.LostPartitions(view)) > 0 {
		c.addLinef("Some repositories cannot be reached now: this answer lacks them. Try again in some seconds.")
	}
	return view, err
}

// Bounds of suggestions.
const (
	maxProbes       = 3
	maxProbeMatches = 99
)

// suggestSearches answers a search without matches. It names the arguments that select
// nothing, and reports what a few other searches would find.
func (c *call) suggestSearches(ctx context.Context, view corpus.View, q *fileQuery, found *search.Result) error {
	c.addLinef("Found no matches.")
	before, notices := c.out.b.Len(), q.completeNotices(found.Notices)
	if q.repo != "" { // suggestRef covers its branches
		notices = slices.DeleteFunc(slices.Clone(notices), func(n syntax.Notice) bool { return filterKey(n) == "rev" })
	}
	c.writeNotices(notices, q.argumentOf)
	if !slices.ContainsFunc(notices, func(n syntax.Notice) bool { return len(n.Suggestions) > 0 }) {
		before = c.out.b.Len() // no note suggests a next step yet
	}
	c.writeRelated(found.Related)
	c.suggestRef(ctx, q.repo, q.ref)
	if q.globArgument == "pattern" {
		if err := c.suggestFiles(ctx, view, q); err != nil {
			return err
		}
	}
	probes := 0
	for _, other := range q.widerQueries() {
		if probes == maxProbes {
			break
		}
		probes++
		found, err := c.o.Searcher.Search(ctx, view, search.Request{Query: other.buildQuery(), Matches: maxProbeMatches, Display: 1, WithoutAdvice: true})
		if err != nil {
			return nil // having no matches is an answer
		}
		n, files := found.Stats.Matches, found.Stats.Files
		found.Release()
		if n > maxProbeMatches {
			c.addLinef("There are more than %d matches %s.", maxProbeMatches, other.how)
		} else if n > 0 {
			c.addLinef("There are matches %s: %d in %s.", other.how, n, formatCount(files, "file", "files"))
		}
	}
	if c.out.b.Len() == before {
		c.addLinef("%s", q.nextStep())
	}
	return nil
}

// suggestFiles names files whose paths contain the letters of a glob that finds nothing.
func (c *call) suggestFiles(ctx context.Context, view corpus.View, q *fileQuery) error {
	letters := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("*?[]{},!/\\ ", r) {
			return -1
		}
		return r
	}, c.args.getText("pattern"))
	if letters == "" || len(letters) > search.MaxFileLetters {
		return nil
	}
	found, err := c.o.FileFinder.FindFiles(ctx, view, search.FileRequest{Letters: letters, Repository: q.repo, Limit: maxSuggestions})
	if err != nil || len(found.Files) == 0 {
		return err
	}
	c.addLinef("Paths with these letters:")
	for _, f := range found.Files {
		c.addLinef("[%s] %s", f.Repo.Name, pathText(f.Path))
	}
	return nil
}

// nextStep suggests a next step if nothing else helps.
func (q *fileQuery) nextStep() string {
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

// suggestRef reports that a ref is not indexed, and how to read it if it is an existing
// branch.
func (c *call) suggestRef(ctx context.Context, repo, ref string) {
	if repo == "" || ref == "" || ref == syntax.DefaultRevision || ref == syntax.AllRevisions {
		return
	}
	r, err := c.o.Index.Repository(ctx, repo)
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
		case b.Indexed && len(indexed) < maxRefsShown:
			indexed = append(indexed, b.Ref.Short())
		case !b.Indexed && (string(b.Ref) == ref || b.Ref.Short() == ref):
			unindexed = b.Ref.Short()
		}
	}
	c.addLinef("No indexed branch of %s has %.200q in its name; indexed are: %s.", repo, ref, strings.Join(indexed, ", "))
	if unindexed != "" {
		c.addLinef("%s is a branch that is not indexed: it cannot be searched, but read_file and list_tree read it with ref=%q.", unindexed, unindexed)
	}
}

// widerQuery is a slightly wider query, with a description of the difference.
type widerQuery struct {
	fileQuery
	how string
}

// widerQueries returns the queries that may have been meant by q, narrowest first.
func (q *fileQuery) widerQueries() []widerQuery {
	var all []widerQuery
	with := func(how string, change func(*fileQuery)) {
		o := widerQuery{*q, how}
		change(&o.fileQuery)
		all = append(all, o)
	}
	if q.pattern != "" && !q.fold {
		with("with ignoreCase=true", func(o *fileQuery) { o.fold = true })
	}
	if q.pattern != "" && strings.ContainsAny(q.pattern, `()[]{}.*+?|^$`) && !strings.Contains(q.pattern, `\`) && !q.literal {
		with("with literal=true, as plain text", func(o *fileQuery) { o.literal = true })
	}
	if _, err := regexp.Compile(q.pattern); q.literal && err == nil && regexp.QuoteMeta(q.pattern) != q.pattern {
		with("without literal, as a regular expression", func(o *fileQuery) { o.literal = false })
	}
	if q.pattern != "" && q.path+q.glob != "" {
		with("without path and include", func(o *fileQuery) { o.path, o.glob = "", "" })
	}
	if q.exclude != "" {
		with("without exclude", func(o *fileQuery) { o.exclude = "" })
	}
	if q.pattern == "" && q.path != "" {
		with("without path", func(o *fileQuery) { o.path = "" })
	}
	if q.ref != "" {
		with("on default branches, without ref", func(o *fileQuery) { o.ref = "" })
	}
	if q.repo != "" {
		with("in other repositories, without repo", func(o *fileQuery) { o.repo = "" })
	}
	return all
}
