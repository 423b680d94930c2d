package engine

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ShownLine is a line that an engine shows.
type ShownLine struct {
	Repository, Path string
	Number           int // from 1
	Text             string
}

// shownMatches bounds the matches that an engine shows.
const shownMatches = 200

// Shown returns the lines of an answer: up to perFile lines of each file, in order, best
// first. matches is the limit of the search.
func (s *QuarryServer) Shown(ctx context.Context, text string, matches, perFile int) ([]ShownLine, error) {
	var reply struct {
		Files   []quarryFile `json:"files"`
		Related []struct {
			Files []quarryFile `json:"files"`
		} `json:"related"`
	}
	_, err := s.postSearch(ctx, quarrySearch{Query: text, Matches: matches, Display: min(shownMatches, matches)}, &reply)
	if errors.Is(err, ErrStatus) {
		return nil, nil // the server rejects the query
	}
	if err != nil {
		return nil, err
	}
	shown := linesOf(reply.Files, perFile)
	for _, group := range reply.Related {
		shown = append(shown, linesOf(group.Files, perFile)...)
	}
	return shown, nil
}

// Found returns the files that the file finder returns for some letters, best first.
func (s *QuarryServer) Found(ctx context.Context, letters string) ([]ShownLine, error) {
	var reply struct {
		Files []struct{ Repository, Path string }
	}
	if _, err := fetchJSON(ctx, s.client, http.MethodGet, s.url+"/api/find_files?query="+url.QueryEscape(letters), nil, &reply); err != nil {
		return nil, err
	}
	var shown []ShownLine
	for _, f := range reply.Files {
		shown = append(shown, ShownLine{Repository: f.Repository, Path: f.Path})
	}
	return shown, nil
}

// linesOf returns up to perFile lines of each file, best first.
func linesOf(files []quarryFile, perFile int) (shown []ShownLine) {
	for _, f := range files {
		content := map[int]string{}
		for _, c := range f.Chunks {
			for i, l := range strings.Split(c.Content, "\n") {
				content[c.ContentStart.LineNumber+i] = l
			}
		}
		if len(content) == 0 {
			shown = append(shown, ShownLine{Repository: f.Repository, Path: f.FileName.Text})
		}
		for _, n := range f.BestLines[:min(len(f.BestLines), perFile)] {
			shown = append(shown, ShownLine{f.Repository, f.FileName.Text, n, content[n]})
		}
	}
	return shown
}

// ZoektQuery is a query in the syntax of zoekt.
type ZoektQuery struct {
	Text       string
	Repository string // the only one that is searched; empty for all
	BM25       bool   // the files are ordered by BM25
}

// Shown returns the lines of an answer to a query: up to perFile lines of each file, in
// order, best first.
func (s *ZoektServer) Shown(ctx context.Context, q ZoektQuery, perFile int) ([]ShownLine, error) {
	if q.Repository != "" {
		q.Text += " repo:^" + regexp.QuoteMeta(q.Repository) + "$"
	}
	return s.searchShown(ctx, q.Text, q.BM25, perFile)
}

// QuoteForZoekt returns the query for a text.
func QuoteForZoekt(text string) ZoektQuery {
	return ZoektQuery{Text: `"` + strings.ReplaceAll(regexp.QuoteMeta(text), `"`, `\"`) + `"`}
}

// Found returns the files whose paths contain the letters as a subsequence.
func (s *ZoektServer) Found(ctx context.Context, letters string) ([]ShownLine, error) {
	return s.searchShown(ctx, "file:"+regexp.QuoteMeta(letters)+" type:file", false, 1)
}

func (s *ZoektServer) searchShown(ctx context.Context, query string, bm25 bool, perFile int) ([]ShownLine, error) {
	var reply zoektReply
	err := s.postSearch(ctx, query, map[string]any{"MaxDocDisplayCount": rankedFiles, "MaxWallTime": queryTimeout, "UseBM25Scoring": bm25}, &reply)
	if errors.Is(err, ErrStatus) {
		return nil, nil // the server rejects the query
	}
	if err != nil {
		return nil, err
	}
	var shown []ShownLine
	for _, f := range reply.Result.Files {
		if len(f.LineMatches) == 0 {
			shown = append(shown, ShownLine{Repository: f.Repository, Path: f.FileName})
		}
		for _, l := range f.LineMatches[:min(len(f.LineMatches), perFile)] {
			shown = append(shown, ShownLine{f.Repository, f.FileName, l.LineNumber, strings.TrimSuffix(string(l.Line), "\n")})
		}
	}
	return shown, nil
}

// Shown returns the lines that contain a text, in the order of paths: up to perFile lines
// of each file.
func (r *Ripgrep) Shown(ctx context.Context, text string, trees map[string]string, perFile int) ([]ShownLine, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	args := []string{
		"--no-config", "--no-ignore", "--ignore-case", "--fixed-strings", "--null", "--with-filename", "--line-number", "--no-heading", "--sort=path",
		"--max-filesize", "1M", "--max-columns", "4000", "--no-messages", "--max-count", strconv.Itoa(perFile),
	}
	if strings.Contains(text, "\n") {
		args = append(args, "--multiline")
	}
	args = append(args, "--regexp", text, "--")
	for _, tree := range trees {
		args = append(args, tree)
	}
	slices.Sort(args[len(args)-len(trees):])
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, r.Path, args...)
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil && stdout.Len() == 0 {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, nil // no match, or a pattern that it does not accept
		}
		return nil, err
	}
	var shown []ShownLine
	for line := range strings.SplitSeq(stdout.String(), "\n") {
		path, rest, ok := strings.Cut(line, "\x00")
		number, content, found := strings.Cut(rest, ":")
		if !ok || !found || len(shown) == shownMatches {
			continue
		}
		n, err := strconv.Atoi(number)
		if place, ok := placeOf(filepath.Clean(path), trees); ok && err == nil {
			shown = append(shown, ShownLine{place.Repository, place.Path, n, content})
		}
	}
	return shown, nil
}

// Found returns the files whose paths contain the letters as a subsequence, in the order
// of paths.
func (r *Ripgrep) Found(ctx context.Context, letters string, trees map[string]string) ([]ShownLine, error) {
	args := []string{"--no-config", "--no-ignore", "--files", "--sort=path", "--iglob", "*" + letters + "*", "--"}
	for _, tree := range trees {
		args = append(args, tree)
	}
	slices.Sort(args[len(args)-len(trees):])
	out, err := exec.CommandContext(ctx, r.Path, args...).Output()
	if _, none := errors.AsType[*exec.ExitError](err); err != nil && !none {
		return nil, err
	}
	var shown []ShownLine
	for path := range strings.Lines(string(out)) {
		if place, ok := placeOf(filepath.Clean(strings.TrimSuffix(path, "\n")), trees); ok {
			shown = append(shown, ShownLine{Repository: place.Repository, Path: place.Path})
		}
	}
	return shown, nil
}
