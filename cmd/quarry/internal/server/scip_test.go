package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// decodeAnswer sends a request as the operator, and decodes the response into v if it has
// the expected status.
func (s *Server) decodeAnswer(t testing.TB, method, path, body string, status int, v any) {
	t.Helper()
	got, answer := s.asOperator(t, method, path, body, "scip")
	if got != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got, answer, status)
	}
	if err := json.Unmarshal([]byte(answer), v); err != nil {
		t.Fatal(err)
	}
}

// uploadScip uploads an index for a commit.
func (s *Server) uploadScip(t testing.TB, g *gitRepository, commit code.CommitID, index []byte) wire.ScipUpload {
	t.Helper()
	var out wire.ScipUpload
	s.decodeAnswer(t, http.MethodPost, fmt.Sprintf("/api/repos/%s/scip?commit=%s", g.ID, commit), string(index), http.StatusCreated, &out)
	return out
}

// find returns the matches at a position as "file:line", with a '!' after precise ones.
func (s *Server) find(t testing.TB, operation, symbol string, g *gitRepository, path string, line int) string {
	t.Helper()
	body := fmt.Sprintf(`{"symbolName":%q,"position":{"repoName":%q,"path":%q,"lineNumber":%d}}`, symbol, g.Name, path, line)
	var found wire.FindSymbolsResponse
	s.decodeAnswer(t, http.MethodPost, "/api/"+operation, body, http.StatusOK, &found)
	var out []string
	for _, f := range found.Files {
		for _, m := range f.Matches {
			mark := ""
			if m.Precise {
				mark = "!"
			}
			out = append(out, fmt.Sprintf("%s:%d%s", f.FileName, m.Range.Start.LineNumber, mark))
		}
	}
	return strings.Join(out, " ")
}

const (
	potBoil   = "scip-go gomod example.com/pot v1 `pot`/Pot#Boil()."
	paintBoil = "scip-go gomod example.com/pot v1 `pot`/Paint#Boil()."
	boiler    = "scip-go gomod example.com/pot v1 `pot`/Boiler#Boil()."
)

// boilSources returns files in which two methods have the same name, and an index of
// them.
func boilSources() (pairs []string, index []byte) {
	occurrence := func(symbol string, roles, line, start, end uint64) sciptest.Message {
		return sciptest.Message{}.Part(2, sciptest.NewOccurrence(symbol, roles, line, start, end))
	}
	pairs = []string{
		"pot.go", "package pot\n\ntype Pot struct{}\n\nfunc (Pot) Boil() {}\n",
		"paint.go", "package pot\n\ntype Paint struct{}\n\nfunc (Paint) Boil() {}\n\ntype Boiler interface{ Boil() }\n",
		"use.go", "package pot\n\nfunc use(all map[string]any) {\n\tall[\"pot\"].(Boiler).Boil()\n\tPaint{}.Boil()\n\tpick().Boil()\n}\n",
	}
	index = sciptest.NewIndex("scip-go").
		Part(2, sciptest.NewDocument("pot.go", occurrence(potBoil, 1, 4, 11, 15),
			sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, potBoil).Text(3, "Secretcanaryqzjxk heats.").Part(4, sciptest.Message{}.Text(1, boiler).Number(3, 1))))).
		Part(2, sciptest.NewDocument("paint.go", occurrence(paintBoil, 1, 4, 13, 17), occurrence(boiler, 1, 6, 23, 27))).
		Part(2, sciptest.NewDocument("use.go", occurrence(boiler, 0, 3, 21, 25), occurrence(paintBoil, 0, 4, 9, 13), occurrence(potBoil, 0, 5, 8, 12)))
	return pairs, index
}

// TestPreciseIndex uploads an index, queries its commit and a later one, replays, and
// erases the repository.
func TestPreciseIndex(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "pot")
	pairs, index := boilSources()
	commit := g.commitFiles(pairs...)
	c := erasureConfig(t, g)
	s := runServer(t, c)
	s.registerAt(t, g, commit)
	kept := s.uploadScip(t, g, commit, index)
	if kept.Documents != 3 || kept.Occurrences != 6 || kept.Symbols != 3 || kept.Tool != "scip-go" {
		t.Errorf("kept %+v", kept)
	}
	check := func(when string, offset int) {
		t.Helper()
		for _, c := range []struct {
			operation string
			line      int
			want      string
		}{
			{"find_definitions", 6, "pot.go:5!"},
			{"find_definitions", 5, "paint.go:5!"},
			{"find_references", 6, fmt.Sprintf("pot.go:5! use.go:%d!", 6+offset)},
			{"find_implementations", 4, "pot.go:5!"},
		} {
			got := s.find(t, c.operation, "Boil", g, "use.go", c.line+offset)
			if got != c.want && !strings.HasPrefix(got, c.want+" ") || c.operation == "find_references" && got != c.want {
				t.Errorf("%s, %s at line %d: %s, want %s", when, c.operation, c.line, got, c.want)
			}
		}
		var hover wire.Hover
		body := fmt.Sprintf(`{"symbolName":"Boil","position":{"repoName":%q,"path":"use.go","lineNumber":%d}}`, g.Name, 6+offset)
		s.decodeAnswer(t, http.MethodPost, "/api/hover", body, http.StatusOK, &hover)
		if !hover.Precise || hover.Documentation != "Secretcanaryqzjxk heats." {
			t.Errorf("%s: hover %+v", when, hover)
		}
	}
	check("at the commit", 0)
	agent, err := connectAgent(t, s.URL()).CallTool(t.Context(), &mcp.CallToolParams{Name: "find_symbol_definitions", Arguments: map[string]any{
		"symbol": "Boil", "repo": g.Name, "path": "use.go", "line": 6,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := agent.Content[0].(*mcp.TextContent).Text; !strings.Contains(got, "1 of them confirmed by a precise index") || !strings.Contains(got, "pot.go:\n5: ") {
		t.Errorf("an agent has %q", got)
	}

	later := g.commitFiles("use.go", "// Package pot boils.\n//\n"+pairs[5])
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == later })
	check("at a later commit", 2)
	s.replayAll(t)
	check("after a replay", 2)

	if found := firstElements(filesWith(t, c.Data, "ecretcanaryqzjxk")); !strings.Contains(found, "segments") {
		t.Errorf("the text of the index is in files of %q: the test sees nothing", found)
	}
	ended := s.awaitErasure(t, s.requestErasure(t, g, "").At)
	if ended.State != erasure.Done {
		t.Errorf("erasure %+v", ended)
	}
	for object, err := range s.segments.List(t.Context()) {
		if err != nil || strings.HasPrefix(object.Name, "scip-") {
			t.Errorf("object %s is left, %v", object.Name, err)
		}
	}
}

// TestPreciseIndexGoes checks that indexes are deleted when a path is erased and when the
// repository is removed.
func TestPreciseIndexGoes(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "pot")
	pairs, index := boilSources()
	commit := g.commitFiles(pairs...)
	s := runServer(t, erasureConfig(t, g))
	s.registerAt(t, g, commit)
	objects := func() (n int) {
		for object, err := range s.segments.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(object.Name, "scip-") {
				n++
			}
		}
		return n
	}
	s.uploadScip(t, g, commit, index)
	e, err := s.apiOptions.Erasures.Erase(t.Context(), erasure.Request{Repository: g.ID, Path: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if ended := s.awaitErasure(t, e.At); ended.State != erasure.Done || objects() != 0 {
		t.Errorf("%d objects are left after the erasure %+v", objects(), ended)
	}
	if got := s.find(t, "find_definitions", "Boil", g, "use.go", 6); strings.Contains(got, "!") {
		t.Errorf("after the erasure: %s", got)
	}
	s.uploadScip(t, g, commit, index)
	at, err := s.registrar.Remove(t.Context(), g.ID, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.versions.Live().Runner.WaitFor(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if err := s.precise.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || objects() != 0 {
		t.Errorf("%d objects are left after the removal, %v", objects(), err)
	}
	s.registerAt(t, g, commit)
	if uploads := s.precise.Uploads(g.ID); len(uploads) > 0 {
		t.Errorf("registered again, it has %+v", uploads)
	}
}

// TestPreciseIndexIsDeleted takes a wrong index back: the one before it answers again, a
// replay does not bring it back, an upload of the same commit after it counts, and its
// object goes.
func TestPreciseIndexIsDeleted(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "pot")
	pairs, index := boilSources()
	commit := g.commitFiles(pairs...)
	s := runServer(t, erasureConfig(t, g))
	s.registerAt(t, g, commit)
	right := s.uploadScip(t, g, commit, index)
	// A wrong index of another tool says that line 6 of use.go calls the method of Paint.
	wrong := sciptest.NewIndex("scip-wrong").
		Part(2, sciptest.NewDocument("paint.go", sciptest.Message{}.Part(2, sciptest.NewOccurrence(paintBoil, 1, 4, 13, 17)))).
		Part(2, sciptest.NewDocument("use.go", sciptest.Message{}.Part(2, sciptest.NewOccurrence(paintBoil, 0, 5, 8, 12))))
	check := func(when, want string) {
		t.Helper()
		if got := s.find(t, "find_definitions", "Boil", g, "use.go", 6); !strings.HasPrefix(got+" ", want+" ") {
			t.Errorf("%s: %s, want %s first", when, got, want)
		}
	}
	check("with the right index", "pot.go:5!")
	kept := s.uploadScip(t, g, commit, wrong)
	check("with the wrong index", "paint.go:5!")
	path := "/api/repos/" + g.ID.String() + "/scip/"
	remove := func(id string, want int) {
		t.Helper()
		if got, answer := s.asOperator(t, http.MethodDelete, path+id, "", "scip"); got != want {
			t.Errorf("delete %s: %d %s, want %d", id, got, answer, want)
		}
	}
	remove("nothing", http.StatusBadRequest)
	remove(strings.Repeat("0", 32), http.StatusNotFound)
	remove(kept.ID, http.StatusNoContent)
	check("after its deletion", "pot.go:5!")
	remove(kept.ID, http.StatusNotFound)
	s.replayAll(t)
	check("after a replay", "pot.go:5!")
	again := s.uploadScip(t, g, commit, wrong)
	check("uploaded again", "paint.go:5!")
	remove(again.ID, http.StatusNoContent)
	remove(right.ID, http.StatusNoContent)
	if got := s.find(t, "find_definitions", "Boil", g, "use.go", 6); strings.Contains(got, "!") {
		t.Errorf("without an index: %s", got)
	}
	if err := s.precise.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for object, err := range s.segments.List(t.Context()) {
		if err != nil || strings.HasPrefix(object.Name, "scip-") {
			t.Errorf("object %s is left, %v", object.Name, err)
		}
	}
}

// TestPreciseIndexIsRefused checks the reason of each refusal, and that nothing is
// stored.
func TestPreciseIndexIsRefused(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "pot")
	pairs, index := boilSources()
	commit := g.commitFiles(pairs...)
	s := runServer(t, erasureConfig(t, g))
	s.registerAt(t, g, commit)
	path := "/api/repos/" + g.ID.String() + "/scip"
	var failure wire.Error
	for query, want := range map[string]string{
		"?commit=" + string(commit) + "&path=cmd": "is no file of commit",
		"?commit=" + strings.Repeat("2", 40):      "no such revision",
		"?commit=main":                            "commit",
		"":                                        "commit",
		"?commit=" + string(commit) + "&path=../outside": "path",
	} {
		s.decodeAnswer(t, http.MethodPost, path+query, string(index), http.StatusBadRequest, &failure)
		if !strings.Contains(failure.Message, want) {
			t.Errorf("%s: %s, want %q", query, failure.Message, want)
		}
	}
	s.decodeAnswer(t, http.MethodPost, path+"?commit="+string(commit), string(index[:len(index)-1]), http.StatusBadRequest, &failure)
	if !strings.Contains(failure.Message, "truncated") {
		t.Error(failure.Message)
	}
	s.decodeAnswer(t, http.MethodPost, "/api/repos/999/scip?commit="+string(commit), string(index), http.StatusNotFound, &failure)
	var listed wire.ScipUploads
	s.decodeAnswer(t, http.MethodGet, path, "", http.StatusOK, &listed)
	if len(listed.Uploads) > 0 {
		t.Errorf("listed %+v", listed)
	}
	// The upload is larger than any other body may be.
	large := append(index, bytes.Repeat(sciptest.Message{}.Text(15, strings.Repeat("x", 1<<20)), 4)...)
	s.uploadScip(t, g, commit, large)
}
