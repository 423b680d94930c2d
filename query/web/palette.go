package web

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// findPath is the page that finds files, repositories, symbols and pages by a few
// letters. Scripts show its list (fragment=1) as an overlay on every other page.
const findPath = "/find"

// Bounds of the results of the page.
const (
	maxFindBytes  = 128 // of the input
	foundFiles    = 20
	foundNearFile = 8 // files of the repository that the visitor reads
	foundOthers   = 5 // repositories
	foundSymbols  = 20
)

// findRequest is the input, and the page on which it was typed.
type findRequest struct {
	Query                      string
	Repository, Revision, Path string
}

// foundRow is a row of the list.
type foundRow struct {
	Icon, More, URL string
	Name            markup
}

// findData is the data of the page.
type findData struct {
	findRequest
	Rows []foundRow
}

// findPage finds what the letters may refer to: symbols after @, pages after >, a line of
// the file after :, and otherwise repositories and files.
func (s *Server) findPage(w http.ResponseWriter, v *pageRequest) error {
	q := v.r.URL.Query()
	d := &findData{findRequest: findRequest{cutText(q.Get("q"), maxFindBytes), q.Get("repo"), q.Get("rev"), q.Get("path")}}
	kind, rest := cutKind(d.Query)
	var err error
	switch ctx, api := v.r.Context(), s.operationsOf(v); {
	case kind == ">":
		if d.Rows, err = s.findComparisons(ctx, api, d.findRequest, rest); err == nil {
			d.Rows = append(d.Rows, s.findPages(v, rest)...)
		}
	case kind == ":":
		d.Rows = s.findLine(d.findRequest, rest)
	case rest == "":
	case kind == "@":
		d.Rows, err = s.findSymbolRows(ctx, api, d.findRequest, rest)
	default:
		d.Rows, err = s.findFileRows(ctx, api, d.findRequest, rest)
	}
	if err != nil {
		return operationError(v, err)
	}
	if q.Get("fragment") == "1" {
		return s.renderPart(w, "find", "found", d)
	}
	return s.renderPage(w, v, view{template: "find", title: s.texts.mustFormat("findTitle"), data: d})
}

// cutKind removes the prefix that selects what to find.
func cutKind(query string) (kind, rest string) {
	query = strings.TrimSpace(query)
	if query != "" && strings.Contains(">:@", query[:1]) {
		return query[:1], strings.TrimSpace(query[1:])
	}
	return "", query
}

// findPages returns the pages whose names contain the letters.
func (s *Server) findPages(v *pageRequest, letters string) (rows []foundRow) {
	for _, p := range []struct {
		text, icon, url string
		access          access
	}{
		{"homeTitle", "search", "/", accessOpen}, {"navRepos", "folder-git-2", "/repos", accessOpen}, {"symbolsTitle", "square-function", symbolsPath, accessOpen},
		{"contexts", "layers", contextsPath, accessOpen}, {"why", "circle-question-mark", whyPath, accessOpen}, {"syntaxTitle", "book-open", "/syntax", accessOpen}, {"keysTitle", "keyboard", "/shortcuts", accessOpen},
		{"preferences", "settings", "/preferences", accessOpen}, {"navAPI", "code", "/api/docs", accessOpen}, {"navSettings", "user", "/settings/keys", accessUser},
		{"deliveries", "layers", "/deliveries", accessOwner}, {"navOperate", "info", "/admin", accessOwner}, {"audit", "scale", "/admin/audit", accessOwner},
		{"replays", "history", "/admin/replays", accessOwner}, {"deadletters", "triangle-alert", "/admin/deadletters", accessOwner}, {"verify", "git-compare", verifyPath, accessOwner},
		{"connections", "link", connectionsPath, accessOwner},
	} {
		if p.access == accessUser && v.user == nil || p.access == accessOwner && !v.isOwner() {
			continue
		}
		name := s.texts.mustFormat(p.text)
		if at, ok := placeInName(name, letters); ok {
			rows = append(rows, foundRow{Icon: p.icon, Name: markPositions(name, at), More: p.url, URL: p.url})
		}
	}
	return rows
}

// findComparisons returns the comparison of the repository that the visitor reads, if the
// letters begin its name, and those of its revision with the branches and tags whose names
// contain the rest.
func (s *Server) findComparisons(ctx context.Context, api *client.Client, q findRequest, letters string) (rows []foundRow, err error) {
	word, name, _ := strings.Cut(strings.ToLower(letters), " ")
	if q.Repository == "" || word == "" || !strings.HasPrefix("compare", word) {
		return nil, nil
	}
	address := source.Address{Repository: q.Repository, Kind: source.PageCompare, Path: "..." + q.Revision}
	if name == "" {
		rows = append(rows, foundRow{Icon: "git-compare", Name: markVisible(s.texts.mustFormat("codeCompare")), More: q.Repository, URL: address.String()})
	}
	found, err := api.ListRepositories(ctx, client.ListRepositoriesParams{Query: q.Repository, PerPage: foundOthers})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found.Items, func(r wire.Repository) bool { return r.RepoName == q.Repository })
	if i < 0 {
		return nil, nil
	}
	status, err := api.GetRepositoryStatus(ctx, int64(found.Items[i].RepoID))
	if err != nil {
		return nil, err
	}
	for _, indexed := range status.Refs {
		ref := code.Ref(indexed.Ref)
		if len(rows) < foundFiles && string(ref) != q.Revision && ref.Short() != q.Revision && strings.Contains(strings.ToLower(ref.Short()), name) {
			address.Path = q.Revision + "..." + indexed.Ref
			rows = append(rows, foundRow{Icon: "git-compare", Name: markVisible(s.texts.mustFormat("codeCompareWith", "name", ref.Short())), More: q.Repository, URL: address.String()})
		}
	}
	return rows, nil
}

// placeInName returns the positions of letters in a name, ignoring case and skipping
// other letters; ok is false if some are missing.
func placeInName(name, letters string) (at []int, ok bool) {
	name, letters = strings.ToLower(name), strings.ToLower(letters)
	for i := 0; i < len(name) && len(at) < len(letters); i++ {
		if name[i] == letters[len(at)] {
			at = append(at, i)
		}
	}
	return at, len(at) == len(letters)
}

// findLine returns the link to a line of the file that the visitor reads.
func (s *Server) findLine(q findRequest, digits string) []foundRow {
	lines := codehtml.ParseLines(digits)
	if lines.IsEmpty() || q.Repository == "" || q.Path == "" {
		return nil
	}
	address := source.Address{Repository: q.Repository, Revision: q.Revision, Kind: source.PageBlob, Path: q.Path}
	return []foundRow{{Icon: "arrow-right", Name: markVisible(s.texts.mustFormat("codeGoLine") + " " + lines.String()), More: q.Path, URL: address.String() + "?L=" + lines.String()}}
}

// foundSymbol is a definition that findSymbolRows found, with its order among them.
type foundSymbol struct {
	row  foundRow
	rank int
}

// findSymbolRows returns definitions whose names contain a text, those of the file that the
// visitor reads first, and then those of its repository. Each definition has a row: equal
// names differ in their places.
func (s *Server) findSymbolRows(ctx context.Context, api *client.Client, q findRequest, name string) (rows []foundRow, err error) {
	queries := []string{"sym:" + strconv.Quote(regexp.QuoteMeta(name))}
	if q.Repository != "" && q.Path != "" { // a common name has more definitions than a search lists
		here := queries[0] + " repo:" + strconv.Quote("^"+regexp.QuoteMeta(q.Repository)+"$") + " file:" + strconv.Quote("^"+regexp.QuoteMeta(q.Path)+"$")
		if q.Revision != "" {
			here += " rev:" + strconv.Quote(q.Revision)
		}
		queries = append(queries, here)
	}
	answers := make([]*wire.SearchResult, len(queries))
	var group errgroup.Group
	for i := range queries {
		group.Go(func() (err error) {
			answers[i], err = api.Search(ctx, wire.SearchRequest{Query: queries[i], Matches: 200, Display: 100})
			if i > 0 && err != nil {
				answers[i], err = &wire.SearchResult{}, nil // such as a revision that is not indexed
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var symbols []foundSymbol
	seen := map[string]bool{}
	for i := len(answers) - 1; i >= 0; i-- {
		for _, f := range answers[i].Files {
			symbols = append(symbols, listSymbols(&f, q, name, seen)...)
		}
	}
	slices.SortStableFunc(symbols, func(a, b foundSymbol) int { return cmp.Compare(a.rank, b.rank) })
	for _, symbol := range symbols[:min(len(symbols), foundSymbols)] {
		rows = append(rows, symbol.row)
	}
	return rows, nil
}

// listSymbols returns the definitions of a file that are not in seen yet.
func listSymbols(f *wire.SearchFile, q findRequest, name string, seen map[string]bool) (symbols []foundSymbol) {
	rank, place := 4, f.Repository+" › "+f.FileName.Text
	switch {
	case f.Repository == q.Repository && f.FileName.Text == q.Path:
		rank, place = 0, ""
	case f.Repository == q.Repository:
		rank, place = 2, f.FileName.Text
	}
	for _, c := range f.Chunks {
		for i, symbol := range c.Symbols {
			line := strconv.Itoa(c.MatchRanges[min(i, len(c.MatchRanges)-1)].Start.LineNumber)
			key := strings.Join([]string{symbol.Symbol, f.Repository, f.FileName.Text, line}, "\x00")
			if symbol.Symbol == "" || seen[key] {
				continue
			}
			seen[key] = true
			at, _ := placeInName(symbol.Symbol, name)
			found := foundSymbol{rank: rank, row: foundRow{
				Icon: "square-function", Name: markPositions(symbol.Symbol, at), More: symbol.Kind + " · " + place + ":" + line, URL: pagePath(f.WebURL) + "?L=" + line,
			}}
			if !strings.EqualFold(symbol.Symbol, name) {
				found.rank++
			}
			symbols = append(symbols, found)
		}
	}
	return symbols
}

// findFileRows returns repositories and files; those of the repository that the visitor
// reads come first. A colon and a line may follow the letters.
func (s *Server) findFileRows(ctx context.Context, api *client.Client, q findRequest, letters string) ([]foundRow, error) {
	suffix := ""
	if before, line, ok := strings.Cut(letters, ":"); ok {
		if lines := codehtml.ParseLines(line); before != "" && !lines.IsEmpty() {
			letters, suffix = before, "?L="+lines.String()
		}
	}
	var near, all *wire.FoundFiles
	var repositories *client.Page[wire.Repository]
	var group errgroup.Group
	group.Go(func() (err error) {
		all, err = api.FindFiles(ctx, client.FindFilesParams{Query: letters, Limit: foundFiles})
		return err
	})
	if q.Repository != "" {
		group.Go(func() (err error) {
			near, err = api.FindFiles(ctx, client.FindFilesParams{Query: letters, Repo: q.Repository, Limit: foundNearFile})
			return err
		})
	}
	group.Go(func() (err error) {
		repositories, err = api.ListRepositories(ctx, client.ListRepositoriesParams{Query: letters, PerPage: foundOthers})
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var rows []foundRow
	for _, r := range repositories.Items {
		rows = append(rows, foundRow{Icon: "folder-git-2", Name: markVisible(r.RepoName), URL: repositoryURL(r.RepoName)})
	}
	seen := map[string]bool{}
	for _, found := range []*wire.FoundFiles{near, all} {
		if found == nil {
			continue
		}
		for _, f := range found.Files {
			if !seen[f.WebURL] && len(seen) < foundFiles {
				seen[f.WebURL] = true
				row := foundRow{Icon: "file-code", Name: markPositions(f.Path, f.Positions), More: f.Repository}
				if f.Repository == q.Repository {
					row.More = ""
				}
				row.URL = pagePath(f.WebURL) + suffix
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// pagePath returns the address of a page of this server without its host, so that it
// works under the host name that the visitor uses.
func pagePath(webURL string) string {
	if i := strings.Index(webURL, source.AddressPrefix); i >= 0 {
		return webURL[i:]
	}
	return webURL
}

// markPositions formats a name with the bytes at some offsets highlighted.
func markPositions(name string, positions []int) markup {
	var out []byte
	at := 0
	for i := 0; i < len(positions); {
		from := positions[i]
		to := from
		for ; i < len(positions) && positions[i] == to; i++ {
			to++
		}
		if from < at || to > len(name) || name[from] >= utf8.RuneSelf || to < len(name) && !utf8.RuneStart(name[to]) {
			continue // never within a character
		}
		out = append(codehtml.AppendName(out, name[at:from]), "<b>"...)
		out = append(codehtml.AppendName(out, name[from:to]), "</b>"...)
		at = to
	}
	return markup(codehtml.AppendName(out, name[at:]))
}
