package assist

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// A query may mean more than it matches: an identifier in another style, a word with
// accents, a file with that name; or, if it finds nothing, a name with another spelling.
// The answer shows these matches separately: its files, counts and exhaustiveness are
// those of the literal query.

// Bounds of related files.
const (
	// maxRelated bounds the groups. All groups of names together show maxRelatedMatches:
	// each group but the first shows minRelatedMatches, and the first shows the rest, at
	// least minFirstMatches.
	maxRelated        = 6
	maxRelatedMatches = 10
	minRelatedMatches = 2
	minFirstMatches   = 4
	// maxRelatedFiles bounds the files shown because of their names, maxNamedFiles the
	// files from which they are chosen.
	maxRelatedFiles = 5
	maxNamedFiles   = 200
	// maxMatchesToRelate is the maximum number of matches of an answer with related
	// files.
	maxMatchesToRelate = 100
	// maxRelatedTerms bounds the terms that file names are searched for. minFileWord is
	// the minimum length of such a term.
	maxRelatedTerms = 3
	minFileWord     = 3
	// relatedShare bounds the time of all searches for related files to a fraction of
	// Options.MaxDuration: 250 ms of 30 s.
	relatedShare = 120
	// maxForms bounds the forms of a name that are shown, maxFormMatches the matches in
	// which forms are found.
	maxForms       = 3
	maxFormMatches = 50
)

// suggestedQuery is a query that may be meant.
type suggestedQuery struct {
	reason search.RelatedReason
	query  string
	root   syntax.Query
}

// relatedFinder finds the related files of a request.
type relatedFinder struct {
	answerer *answerer
	request  search.Request
	result   *search.Result
	seen     map[fileLine]bool // lines in the groups of names
}

// addRelated adds the related files to the result of a request. If the request found
// nothing, advised holds the queries that may be meant.
func (a *answerer) addRelated(ctx context.Context, r search.Request, result *search.Result, advised []suggestedQuery) {
	q := r.Query
	if !result.Evidence.Complete || result.Evidence.Looked > maxMatchesToRelate ||
		q.Type != syntax.TypeDefault || q.Select != syntax.SelectDefault || q.Text == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.shareOfTime(relatedShare))
	defer cancel()
	l := &relatedFinder{answerer: a, request: r, result: result, seen: map[fileLine]bool{}}
	terms := plainTerms(q)
	if result.Stats.Matches == 0 {
		l.addSuggested(ctx, advised[:min(len(advised), maxRelated)])
	}
	if len(terms) == 1 && terms[0].Case != syntax.CaseYes && isBare(q, terms[0]) && !result.Evidence.DefinesMatch {
		if result.Stats.Matches > 0 {
			l.addForms(ctx, terms[0], search.RelatedStyle, identifier.StyleExpression(terms[0].Pattern))
		}
		l.addForms(ctx, terms[0], search.RelatedAccents, identifier.AccentExpression(terms[0].Pattern))
	}
	if len(terms) > 0 && !syntax.HasRevision(q.Root) {
		l.addNamedFiles(ctx, terms)
	}
}

// plainTerms returns the terms of a query that consists of filters and at most
// maxRelatedTerms literals; nil for any other query.
func plainTerms(q *syntax.Parsed) (terms []*syntax.Text) {
	for _, operand := range syntax.Operands(q.Root) {
		text, ok := operand.(*syntax.Text)
		_, negated := operand.(*syntax.Not)
		switch {
		case negated: // a filter on anything
		case ok && !text.Regexp && len(text.Lines) == 0 && len(terms) < maxRelatedTerms:
			terms = append(terms, text)
		case hasPattern(operand):
			return nil
		}
	}
	return terms
}

// isBare reports whether a term has no quotes and no keyword.
func isBare(q *syntax.Parsed, t *syntax.Text) bool {
	return t.At.End <= len(q.Text) && q.Text[t.At.Start:t.At.End] == t.Pattern
}

// addSuggested adds a group for each query that finds something.
func (l *relatedFinder) addSuggested(ctx context.Context, all []suggestedQuery) {
	for i, m := range all {
		r := l.request
		r.Query = &syntax.Parsed{Root: m.root, Text: m.query}
		r.Matches, r.Display, r.FirstOfFile = search.MinLooked, minRelatedMatches, 1
		if i == 0 {
			r.Display = max(maxRelatedMatches-minRelatedMatches*(len(all)-1), minFirstMatches)
		}
		found := l.runSearch(ctx, r)
		if found == nil {
			continue
		}
		l.addGroup(search.Related{Reason: m.reason, Query: m.query, Files: l.dropSeen(found.Files)})
	}
}

// dropSeen drops the files whose lines with matches are already in a group.
func (l *relatedFinder) dropSeen(files []search.FileMatch) []search.FileMatch {
	return slices.DeleteFunc(files, func(f search.FileMatch) bool {
		fresh := len(f.Chunks) == 0
		for _, c := range f.Chunks {
			for _, at := range c.Ranges {
				line := fileLine{keyOf(&f), at.Start.LineNumber}
				fresh = fresh || !l.seen[line]
				l.seen[line] = true
			}
		}
		return !fresh
	})
}

// fileLine is a line of a file.
type fileLine struct {
	fileID
	number int
}

// runSearch returns the result of a search, or nil if it found nothing. The files remain
// valid as long as the result of the request.
func (l *relatedFinder) runSearch(ctx context.Context, r search.Request) *search.Result {
	r.WithoutAdvice, r.Related, r.Explain, r.Whole = true, false, false, false
	found, err := l.answerer.probe(ctx, r, nil)
	if err != nil {
		return nil // the answer is complete without it
	}
	if len(found.Files) == 0 {
		found.Release()
		return nil
	}
	l.result.Hold(found)
	return found
}

func (l *relatedFinder) addGroup(group search.Related) {
	if len(l.result.Related) < maxRelated && len(group.Files) > 0 {
		l.result.Related = append(l.result.Related, group)
	}
}

// addForms adds matches of other forms of a term, which expression matches, and a notice
// that names the forms.
func (l *relatedFinder) addForms(ctx context.Context, term *syntax.Text, reason search.RelatedReason, expression string) {
	if expression == "" {
		return
	}
	q := l.request.Query
	names := l.answerer.writtenForms(ctx, l.request, term, expression)
	var all []suggestedQuery
	notice := syntax.Notice{Code: syntax.RelatedMatches, At: term.At}
	for _, name := range names {
		text := q.Correct(term, term.Pattern, name)
		if text == "" {
			continue
		}
		all = append(all, suggestedQuery{reason, text, syntax.Replace(q.Root, term, withName(term, term.Pattern, name))})
		notice.Suggestions, notice.Queries = append(notice.Suggestions, name), append(notice.Queries, text)
	}
	if len(all) == 0 {
		return
	}
	l.addSuggested(ctx, all)
	if len(l.result.Notices) < syntax.MaxNotices {
		notice.Message = syntax.ShowFilter(term.Pattern) + " is also written " + syntax.ShowNames(notice.Suggestions, " and ") +
			"; those matches are listed separately and not counted."
		l.result.Notices = append(l.result.Notices, notice)
	}
}

// writtenForms returns the spellings of a term that expression matches in the files that
// the filters select, those in the best files first.
func (a *answerer) writtenForms(ctx context.Context, r search.Request, term *syntax.Text, expression string) (names []string) {
	root := syntax.Replace(r.Query.Root, term, &syntax.Text{Pattern: expression, Regexp: true, Case: syntax.CaseNo})
	found, err := a.probe(ctx, search.Request{
		Query: &syntax.Parsed{Root: root}, Matches: search.MinLooked, Display: maxFormMatches, Public: r.Public, WithoutAdvice: true,
	}, nil)
	if err != nil {
		return nil
	}
	defer found.Release()
	for i := range found.Files {
		for _, c := range found.Files[i].Chunks {
			for _, at := range c.Ranges {
				name := string(c.Content[at.Start.ByteOffset-c.Start.ByteOffset : at.End.ByteOffset-c.Start.ByteOffset])
				if len(names) < maxForms && !strings.EqualFold(name, term.Pattern) && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// addWords adds the files with most of the words of a query that are not in its answer, if
// the answer has only a few files, and they are prose or, unless the query was read as
// something pasted, the words are far apart in them.
func (a *answerer) addWords(ctx context.Context, r search.Request, result *search.Result, p *reading.Prose) {
	pasted := slices.ContainsFunc(result.Notices, func(n syntax.Notice) bool { return n.Code == syntax.PastedText })
	if result.Evidence.Shown > maxPoorFiles || (pasted || result.Evidence.CloseTerms) && result.Evidence.InCode {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.shareOfTime(relatedShare))
	defer cancel()
	l := &relatedFinder{answerer: a, request: r, result: result}
	r = withAnyWord(r, p)
	r.Matches, r.Display, r.FirstOfFile = search.MinLooked, maxRelatedMatches*minRelatedMatches, minRelatedMatches
	found := l.runSearch(ctx, r)
	if found == nil {
		return
	}
	answered := l.answeredFiles()
	files := slices.DeleteFunc(found.Files, func(f search.FileMatch) bool { return answered[keyOf(&f)] })
	l.addGroup(search.Related{Reason: search.RelatedWords, Query: r.Query.String(), Files: files[:min(len(files), maxRelatedMatches)]})
}

// addNamedFiles adds the files whose names contain the terms and that are not in the
// answer.
func (l *relatedFinder) addNamedFiles(ctx context.Context, terms []*syntax.Text) {
	q := l.request.Query
	root, text := q.Root, q.Text
	words := make([]string, 0, len(terms))
	for i := len(terms) - 1; i >= 0; i-- { // from the end, so that earlier offsets stay valid
		t := terms[i]
		if len(t.Pattern) < minFileWord || strings.ContainsAny(t.Pattern, " /\n") || t.At.End > len(text) {
			return
		}
		words = append(words, strings.ToLower(t.Pattern))
		file := &syntax.File{Pattern: regexp.QuoteMeta(t.Pattern) + "[^/]*$", Case: t.Case}
		root = syntax.Replace(root, t, file)
		text = text[:t.At.Start] + file.String() + text[t.At.End:]
	}
	if !search.MayBeNamed(ctx, l.answerer.view, words) {
		return
	}
	r := l.request
	r.Query = &syntax.Parsed{Root: root, Text: text}
	r.Matches, r.Display, r.ContextLines = search.MinLooked, maxNamedFiles, 0
	found := l.runSearch(ctx, r)
	if found == nil {
		return
	}
	answered := l.answeredFiles()
	files := slices.DeleteFunc(found.Files, func(f search.FileMatch) bool { return answered[keyOf(&f)] })
	slices.SortStableFunc(files, func(a, b search.FileMatch) int {
		return cmp.Or(-cmp.Compare(nameShare(a.Path, words), nameShare(b.Path, words)), -cmp.Compare(a.Score, b.Score))
	})
	l.addGroup(search.Related{Reason: search.RelatedFileName, Query: text, Files: files[:min(len(files), maxRelatedFiles)]})
}

// fileID identifies a file on the default branch of its repository.
type fileID struct {
	repo *corpus.Repository
	path string
}

func keyOf(f *search.FileMatch) fileID { return fileID{f.Repo, f.Path} }

// answeredFiles returns the files that are already in the answer.
func (l *relatedFinder) answeredFiles() map[fileID]bool {
	files := map[fileID]bool{}
	for i := range l.result.Files {
		files[keyOf(&l.result.Files[i])] = true
	}
	for _, key := range l.answerer.emitted {
		files[key] = true
	}
	return files
}

// nameShare returns the fraction of a file's name that words make up, all of which are in
// the name; 1 if one word is the name.
func nameShare(path string, words []string) float64 {
	if len(words) == 1 && identifier.NamesFile(words[0], path) {
		return 1
	}
	letters := 0
	for _, w := range words {
		letters += len(w)
	}
	return min(1, float64(letters)/float64(len(path)-strings.LastIndexByte(path, '/')-1))
}
