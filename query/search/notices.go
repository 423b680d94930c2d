package search

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// Bounds on the cost of notices.
const (
	// maxInspectedPlaces bounds the inspected places. If there are more, it is unknown
	// whether a filter selects nothing, and there is no notice.
	maxInspectedPlaces = 1 << 20
	// maxSuggestedPlaces bounds the places whose paths are compared with the value of a
	// filter, maxSuggestedRefs the refs.
	maxSuggestedPlaces = 100_000
	maxSuggestedRefs   = 20_000
	// maxInspectedOfAnswer bounds the inspected places if the answer is not empty.
	maxInspectedOfAnswer = 50_000
	// inspectedTogether is the number of path expressions that cost about as much as the
	// rest of a place.
	inspectedTogether = 4
	// maxExactNames bounds the repositories whose letter case is compared.
	maxExactNames = 100
	// inspectShare bounds the time for inspecting places to a fraction of
	// Options.MaxDuration: 500 ms of 30 s.
	inspectShare = 60
	// inspectStep is the number of places after which other searches get their turn.
	inspectStep = 4096
)

// noticeFinder finds the filters of a query that select nothing. It sees only what the
// view shows, so its notices reveal nothing hidden.
//
// The selected repositories are those that satisfy all conditions on repositories at the
// top level of the query. Refs, languages and paths are searched for in these.
type noticeFinder struct {
	view         corpus.View
	query        *syntax.Parsed
	scope        *match.Scope
	segments     []corpus.Segment
	worker       *admission.Worker
	began        time.Time
	limit        time.Duration // of the inspection
	empty        bool          // whether the answer is empty
	listsSymbols bool          // the query lists symbols by name and contains no sym:
	selected     []bool        // repositories
	visible      int           // repositories that exist for the caller
	count        int           // selected repositories
	notices      []syntax.Notice
}

// findNotices returns the notices of a search; empty reports whether its answer is empty,
// and begin creates the worker that finds the notices.
func (s *Searcher) findNotices(ctx context.Context, view corpus.View, p *searchPlan, empty bool, begin func() *admission.Worker) []syntax.Notice {
	return s.newNoticeFinder(view, p, empty).inspectQuery(ctx, begin)
}

func (s *Searcher) newNoticeFinder(view corpus.View, p *searchPlan, empty bool) *noticeFinder {
	return &noticeFinder{
		view: view, query: p.request.Query, scope: p.scope, segments: p.segments, limit: s.options.MaxDuration / inspectShare, empty: empty,
		listsSymbols: p.request.Query.Type == syntax.TypeSymbol,
	}
}

// inspectQuery returns the notices of a search. It inspects filters if the answer is
// empty, or if a filter may select nothing although there is an answer: a filter in a
// part of an or, or a negated one. begin creates the worker for this work.
func (in *noticeFinder) inspectQuery(ctx context.Context, begin func() *admission.Worker) []syntax.Notice {
	c := in.scope.Query
	in.noticeOtherNames()
	if shards, ok := in.view.(*shardedView); ok && shards.lostPartitions() != nil {
		return in.notices // what the filters select may be lost
	}
	isOptional := func(p *match.Predicate) bool { return p.Optional && p.Path == nil && p.Place == nil }
	if in.empty && (len(c.Predicates) > 0 || c.SoleSymbol() != nil) || slices.ContainsFunc(c.Predicates, isOptional) {
		in.worker, in.began = begin(), time.Now()
		defer in.worker.End()
		in.inspectFilters(ctx)
	}
	return in.notices
}

// hasTime reports whether time is left and the answer is still needed. It lets other
// searches run.
func (in *noticeFinder) hasTime() bool {
	return in.worker.Step() && time.Since(in.began) < in.limit
}

func (in *noticeFinder) inspectFilters(ctx context.Context) {
	in.selectRepositories()
	if in.visible == 0 {
		return
	}
	before := len(in.notices)
	in.inspectRepositories()
	if in.count == 0 && len(in.notices) > before {
		return
	}
	isOptional := func(p *match.Predicate) bool { return p.Optional && p.Language != nil }
	if in.inspectRefs(ctx) && (in.empty || slices.ContainsFunc(in.scope.Query.Predicates, isOptional)) {
		in.inspectPlaces(ctx)
	}
}

func (in *noticeFinder) addNotice(n syntax.Notice) {
	if len(in.notices) < syntax.MaxNotices {
		in.notices = append(in.notices, n)
	}
}

// selectRepositories finds the selected repositories; all that exist if there would be none.
func (in *noticeFinder) selectRepositories() {
	conditions := slices.DeleteFunc(slices.Clone(in.scope.Query.RootConjuncts()),
		func(n match.Node) bool { return !match.IsAboutRepositories(n) })
	in.selected = make([]bool, len(in.scope.Repos))
	for i, r := range in.scope.Repos {
		if r == nil {
			continue
		}
		in.visible++
		in.selected[i] = !slices.ContainsFunc(conditions, func(n match.Node) bool { return !match.EvalRepository(in.scope, n, i) })
		if in.selected[i] {
			in.count++
		}
	}
	if in.count > 0 {
		return
	}
	for i, r := range in.scope.Repos {
		in.selected[i] = r != nil
	}
}

// suggestions are names that exist: those near to what was written, or else all, if there are few.
type suggestions struct{ near, all []string }

// suggestNames returns the names to suggest for a word.
func suggestNames(word string, names []string) suggestions {
	near := spelling.Nearest(word, slices.Values(names), syntax.MaxSuggestions)
	if len(near) > 0 || len(names) > syntax.MaxSuggestions {
		return suggestions{near: near}
	}
	return suggestions{all: names}
}

// addFilterNotice is the notice of a filter that selects nothing among what is given.
func (in *noticeFinder) addFilterNotice(p *match.Predicate, among string, names suggestions) {
	filter := filterOf(p.Leaf)
	message := fmt.Sprintf("%s selects none of %s.", syntax.ShowFilter(filter), among)
	if p.Negated {
		message = fmt.Sprintf("-%s excludes nothing: %s", syntax.ShowFilter(filter), message)
	}
	if len(names.near) > 0 {
		message += " Did you mean " + syntax.ShowNames(names.near, " or ") + "?"
	} else if len(names.all) == 1 {
		message += " The only name is " + names.all[0] + "."
	} else if len(names.all) > 0 {
		message += " There are " + syntax.ShowNames(names.all, ", ") + "."
	}
	in.addNotice(syntax.Notice{
		Code: syntax.FilterSelectsNothing, At: p.Leaf.Span(), Message: message, Filter: filter,
		Suggestions: slices.Concat(names.near, names.all),
		Queries:     correctedQueries(in.query, p.Leaf, slices.Concat(names.near, names.all)),
	})
}

// correctedQueries returns, for each name, the whole query with that name as the value of
// the filter.
func correctedQueries(q *syntax.Parsed, leaf syntax.Query, names []string) []string {
	var queries []string
	for _, name := range names {
		if text := q.Correct(leaf, "", name); text != "" {
			queries = append(queries, text)
		}
	}
	return queries
}

// filterOf prints a filter. Its letter case is written elsewhere in the query, if at all.
func filterOf(leaf syntax.Query) string {
	switch q := leaf.(type) {
	case *syntax.Repo:
		leaf = &syntax.Repo{Pattern: q.Pattern, Case: syntax.CaseNo}
	case *syntax.File:
		leaf = &syntax.File{Pattern: q.Pattern, Case: syntax.CaseNo}
	case *syntax.RepoHas:
		leaf = &syntax.RepoHas{Path: q.Path, Content: q.Content, Case: syntax.CaseNo}
	case *syntax.Symbol:
		leaf = &syntax.Symbol{Pattern: q.Pattern, Case: syntax.CaseNo, Kinds: q.Kinds, Lines: q.Lines}
	}
	return leaf.String()
}

func (in *noticeFinder) describeRepositories() string {
	n := in.count
	if n == 0 {
		n = in.visible
	}
	return syntax.ShowCount(n, "repository", "repositories")
}

// inspectRepositories inspects the filters on repositories.
func (in *noticeFinder) inspectRepositories() {
	for _, p := range in.scope.Query.Predicates {
		owned, _ := p.Leaf.(*syntax.Owned)
		if owned != nil && len(owned.Rules) == 0 && !owned.Unfinished && !p.Negated && (in.empty || p.Optional) {
			in.addFilterNotice(p, "the owners in CODEOWNERS of "+in.describeRepositories(), suggestions{})
		}
		if p.Repo == nil || !in.empty && !p.Optional || slices.Contains(in.scope.RepoHas[p.Number], true) {
			continue
		}
		among := fmt.Sprintf("the %s that you may read", syntax.ShowCount(in.visible, "repository", "repositories"))
		switch leaf := p.Leaf.(type) {
		case *syntax.Repo:
			in.addFilterNotice(p, among, suggestions{near: in.nearRepositories(longestLiteral(leaf.Pattern))})
		case *syntax.RepoHas:
			if len(syntax.RepositoryFilters(in.query.Root)) > 0 {
				among = "the repositories that the other filters select"
			}
			if !leaf.Unfinished && !p.Negated {
				in.addFilterNotice(p, among, suggestions{})
			}
		case *syntax.RepoSet:
			in.addFilterNotice(p, among, suggestions{near: in.nearRepositories(leaf.Names[0])})
		case *syntax.Context:
			in.addFilterNotice(p, among, suggestions{near: in.scope.NearContexts(leaf.Name)})
		default:
			if !p.Negated { // excluding something that does not exist is not a mistake
				in.addFilterNotice(p, among, suggestions{})
			}
		}
	}
	if in.empty && in.count == 0 && len(in.notices) == 0 && in.visible > 0 {
		in.addNotice(syntax.Notice{
			Code: syntax.FilterSelectsNothing,
			Message: fmt.Sprintf("Together, the filters on repositories select none of %s, although each selects some.",
				syntax.ShowCount(in.visible, "repository", "repositories")),
		})
	}
}

func (in *noticeFinder) nearRepositories(word string) []string {
	return spelling.Nearest(word, func(yield func(string) bool) {
		for _, r := range in.scope.Repos {
			if r != nil && !yield(r.Name) {
				return
			}
		}
	}, syntax.MaxSuggestions)
}

// noticeOtherNames adds notices about filters that select something here by a name that
// the established server does not accept.
func (in *noticeFinder) noticeOtherNames() {
	for _, p := range in.scope.Query.Predicates {
		switch leaf := p.Leaf.(type) {
		case *syntax.Repo:
			in.noticeLetters(p, leaf)
		case *syntax.Language:
			if full := p.LanguageName; full != "" && !strings.EqualFold(full, leaf.Name) {
				in.addNotice(syntax.Notice{
					Code: syntax.DifferentMeaning, At: leaf.At, Filter: filterOf(leaf),
					Message: fmt.Sprintf("%s is an alias of %s. The established server accepts only full language names.", syntax.ShowFilter(leaf.Name), full),
				})
			}
		}
	}
}

// noticeLetters adds a notice if a filter selects a repository only because it ignores
// letter case or matches the display name.
func (in *noticeFinder) noticeLetters(p *match.Predicate, leaf *syntax.Repo) {
	if leaf.Case == syntax.CaseYes {
		return
	}
	var exact *regexp.Regexp
	looked := 0
	for i, has := range in.scope.RepoHas[p.Number] {
		if !has {
			continue
		}
		name := in.scope.Repos[i].Name
		same := p.Name.MatchString(name)
		if same && !(isLower(name) && isLower(leaf.Pattern)) {
			if exact == nil {
				exact = regexp.MustCompile(leaf.Pattern)
			}
			same = exact.MatchString(name)
		}
		if !same {
			filter := (&syntax.Repo{Pattern: leaf.Pattern, Case: syntax.CaseYes}).String()
			in.addNotice(syntax.Notice{
				Code: syntax.DifferentMeaning, At: leaf.At, Filter: filterOf(leaf),
				Message: fmt.Sprintf("%s also selects %s. The established server matches the full name and its case; write (%s) to do the same.",
					syntax.ShowFilter(filterOf(leaf)), syntax.ShowFilter(name), syntax.ShowFilter(filter)),
			})
			return
		}
		if looked++; looked == maxExactNames {
			return
		}
	}
}

// isLower reports whether s contains only ASCII characters and no capital letter, so that
// letter case makes no difference.
func isLower(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || 'A' <= s[i] && s[i] <= 'Z' {
			return false
		}
	}
	return true
}

// inspectRefs inspects the filters on refs, and reports whether some of them may select
// files.
func (in *noticeFinder) inspectRefs(ctx context.Context) bool {
	var filters []*match.Predicate
	for _, p := range in.scope.Query.Predicates {
		if p.Ref != nil && (in.empty || p.Optional) && len(filters) < syntax.MaxNotices {
			filters = append(filters, p)
		}
	}
	if len(filters) == 0 {
		return true
	}
	ofID := make(map[code.RepositoryID]bool, in.count)
	for i, r := range in.scope.Repos {
		if in.selected[i] {
			ofID[r.ID] = true
		}
	}
	type branch struct {
		repository code.RepositoryID
		ref        code.Ref
	}
	found, names, all := make([]bool, len(filters)), map[string]bool{}, map[branch]bool{}
	_, _, err := in.view.Revisions(ctx, func(r *corpus.Repository, ref code.Ref) bool {
		if !ofID[r.ID] {
			return false
		}
		for i, p := range filters {
			found[i] = found[i] || p.Ref(r, ref)
		}
		if ref.IsPin() {
			return false
		}
		all[branch{r.ID, ref}] = true
		if len(names) < maxSuggestedRefs {
			names[ref.Short()] = true
		}
		return false // no files are read
	})
	if err != nil {
		return false
	}
	for i, p := range filters {
		if !found[i] {
			among := fmt.Sprintf("the %s of %s", syntax.ShowCount(len(all), "indexed branch", "indexed branches"), in.describeRepositories())
			pattern := p.Leaf.(*syntax.Revision).Pattern
			word := strings.TrimPrefix(strings.TrimPrefix(pattern, "refs/heads/"), "refs/tags/")
			in.addFilterNotice(p, among, suggestNames(word, slices.Sorted(maps.Keys(names))))
		}
	}
	return slices.Contains(found, true)
}
