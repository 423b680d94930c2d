package clienttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// TestClients makes the calls with each client of each document.
func TestClients(t *testing.T) {
	tools := toolsDirectory(t)
	binary, calls := testserver.Build(t), readCalls(t)
	for _, peer := range []bool{false, true} {
		for _, l := range languages {
			name := "ours"
			if peer {
				name = "peer"
			}
			t.Run(name+"/"+l.name, func(t *testing.T) {
				w := newWorld(t, binary)
				document := w.clientDocuments(t, peer)
				r := &run{
					world: w, documents: document, driver: l.generateClient(t, tools, document.raw, w.url),
					vars:     variables{"setupToken": w.token, "operatorToken": w.operator, "root": w.root, "wrongKey": "sbk_wrong", "scipIndex": encodeIndex()},
					compare:  comparison{subset: peer, float32: peer},
					keyName:  "X-Service-Api-Key",
					outcomes: make(map[string][2]bool),
				}
				if peer {
					r.keyName = "X-Sourcebot-Api-Key"
				}
				for i := range calls {
					r.makeCall(t, &calls[i])
				}
				r.checkCoverage(t)
			})
		}
	}
}

// encodeIndex returns a precise index of the repository kettle, in base64.
func encodeIndex() string {
	const boil = "scip-go gomod example.org/meadow v1 `src`/Boil()."
	return base64.StdEncoding.EncodeToString(sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("src/boil.go",
		sciptest.Message{}.Part(2, sciptest.NewOccurrence(boil, 1, 2, 5, 9)),
		sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, boil).Text(3, "Boil heats.")))))
}

// documents holds the document from which a client is generated, and ours, which has all
// operations.
type documents struct {
	raw      []byte
	paths    map[string]map[string]operation // by path and method
	complete *openapi.Document
}

type operation struct {
	ID        string `json:"operationId"`
	Responses map[string]struct {
		Ref     string `json:"$ref"`
		Content map[string]any
	}
}

func (w *world) clientDocuments(t *testing.T, peer bool) documents {
	t.Helper()
	raw := w.fetchDocument(t)
	if peer {
		b, err := os.ReadFile("../../../schemas/openapi/testdata/peer-v5.1.9.yaml")
		if err == nil {
			raw, err = yaml.YAMLToJSON(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var parsed struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &parsed); err != nil {
		t.Fatal(err)
	}
	d := documents{raw: raw, paths: make(map[string]map[string]operation)}
	for path, members := range parsed.Paths {
		d.paths[path] = make(map[string]operation)
		for method, b := range members {
			if method == "parameters" {
				continue
			}
			var o operation
			if err := json.Unmarshal(b, &o); err != nil {
				t.Fatal(err)
			}
			d.paths[path][strings.ToUpper(method)] = o
		}
	}
	var err error
	if d.complete, err = openapi.Load(); err != nil {
		t.Fatal(err)
	}
	return d
}

// fetchDocument returns our document as the server shows it.
func (w *world) fetchDocument(t *testing.T) []byte {
	t.Helper()
	answer, err := http.Get(w.url + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	last := w.takeLast()
	if last.status != http.StatusOK {
		t.Fatalf("GET /api/openapi.json: %d: %s", last.status, last.body)
	}
	return []byte(last.body)
}

// findOperation returns the path and method of an operation, and whether the client's
// document has it.
func (d *documents) findOperation(id string) (path, method string, o operation, has bool) {
	for _, p := range d.complete.Paths {
		for _, m := range p.Value.Methods() {
			if m.Operation.OperationID == id {
				o, has = d.paths[p.Name][m.Name]
				return p.Name, m.Name, o, has && o.ID == id
			}
		}
	}
	return "", "", operation{}, false
}

// run holds the calls of one client.
type run struct {
	*world
	documents
	driver   *driver
	vars     variables
	compare  comparison
	keyName  string             // header for API keys
	outcomes map[string][2]bool // by operation: whether it has failed, whether it has succeeded
}

const pollInterval = 50 * time.Millisecond

// makeCall makes a call. If the call is marked so, it repeats the call until the response
// is as expected.
func (r *run) makeCall(t *testing.T, c *call) {
	t.Helper()
	if c.Do != "" {
		r.runStep(t, c.Do)
		return
	}
	path, method, o, has := r.findOperation(c.Operation)
	if path == "" {
		t.Errorf("testdata/calls.yaml: %s is no operation", c.Operation)
		return
	}
	if !has && !c.Always {
		return
	}
	filled, err := c.fillCall(r.vars)
	if err != nil {
		t.Errorf("%s: %v", c, err)
		return
	}
	ctx := clocktest.NewContext(t)
	for {
		value, last, pending := r.sendCall(filled, path, method, o, has)
		if pending == nil {
			pending = checkExpected(value, filled.Until)
		}
		if pending == nil {
			if err := r.finishCall(filled, value, last); err != nil {
				t.Errorf("%s: %v\n%s", c, err, last.body)
			}
			return
		}
		if len(filled.Until) == 0 {
			t.Errorf("%s: %v", c, pending)
			return
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			t.Errorf("%s: until the tests have to end: %v", c, pending)
			return
		}
	}
}

// sendCall sends a call with the client, or without it if the client's document lacks the
// operation, and checks the response. It returns the value as the caller sees it.
func (r *run) sendCall(c *call, path, method string, o operation, has bool) (any, *exchange, error) {
	u := &understanding{}
	var err error
	if has {
		u, err = r.driver.sendInstruction(r.newInstruction(c, path))
	} else {
		err = r.sendPlain(c, path, method)
	}
	last := r.takeLast()
	if err != nil {
		if last != nil {
			err = fmt.Errorf("%w\n%d %s", err, last.status, last.body)
		}
		return nil, nil, err
	}
	if last == nil || last.method != method || !matchesTemplate(path, last.path) {
		return nil, nil, fmt.Errorf("want a request %s %s, have %v", method, path, last)
	}
	if c.Wants == 0 && last.status >= 300 || c.Wants != 0 && last.status != c.Wants {
		return nil, nil, fmt.Errorf("status %d: %s", last.status, last.body)
	}
	if !has {
		value, err := parseNumbers(last.body)
		return value, last, err
	}
	value, err := r.checkUnderstanding(u, last, o)
	if err != nil {
		return nil, nil, err
	}
	outcome := r.outcomes[c.Operation]
	outcome[boolToInt(last.status < 300)] = true
	r.outcomes[c.Operation] = outcome
	return value, last, nil
}

// checkUnderstanding compares the client's result with the response of the server.
func (r *run) checkUnderstanding(u *understanding, last *exchange, o operation) (any, error) {
	if u.Status != 0 && u.Status != last.status {
		return nil, fmt.Errorf("the client has status %d, %d was sent", u.Status, last.status)
	}
	response, documented := o.Responses[fmt.Sprint(last.status)]
	isJSON := strings.Contains(last.header.Get("Content-Type"), "json") && !strings.Contains(last.header.Get("Content-Type"), "ndjson")
	switch {
	case last.body == "":
		return nil, nil
	case !isJSON:
		if u.Text != last.body {
			return nil, fmt.Errorf("the client has %q, %q was sent", u.Text, last.body)
		}
		return u.Text, nil
	case !documented || response.Ref == "" && len(response.Content) == 0:
		return parseNumbers(last.body) // the client has no type for the body
	case u.Value == nil:
		return nil, fmt.Errorf("the client has no value of a documented answer: %d %s", last.status, last.body)
	}
	sent, err := parseNumbers(last.body)
	if err != nil {
		return nil, err
	}
	if d := r.compare.firstDifference(sent, u.Value, ""); d != "" {
		return nil, fmt.Errorf("%s\n%s", d, last.body)
	}
	return u.Value, nil
}

// finishCall checks what a call expects of its response, and saves variables.
func (r *run) finishCall(c *call, value any, last *exchange) error {
	if err := checkExpected(value, c.Expect); err != nil {
		return err
	}
	if c.Code != "" {
		if err := checkExpected(value, map[string]any{"errorCode": c.Code, "statusCode": last.status}); err != nil {
			return err
		}
	}
	for name, path := range c.Save {
		if header, ok := strings.CutPrefix(path, "$"); ok {
			r.vars[name], _, _ = strings.Cut(last.header.Get(header), ";")
			continue
		}
		saved, err := valueAt(value, path)
		if err != nil || saved == nil {
			return fmt.Errorf("no value for %s at %s: %w", name, path, err)
		}
		r.vars[name] = saved
	}
	return nil
}

// checkCoverage reports the operations that were not called with both a success and a
// failure.
func (r *run) checkCoverage(t *testing.T) {
	t.Helper()
	for _, p := range r.complete.Paths {
		for _, m := range p.Value.Methods() {
			id := m.Operation.OperationID
			if _, _, _, has := r.findOperation(id); !has {
				continue
			}
			canFail := m.Operation.Access != openapi.AccessOpen || m.Operation.RequestBody != nil || len(r.complete.Parameters(p.Value, m.Operation)) > 0
			if outcome := r.outcomes[id]; !outcome[1] || !outcome[0] && canFail {
				t.Errorf("%s: called with a success: %v, with a failure: %v; add the missing call to testdata/calls.yaml", id, outcome[1], outcome[0])
			}
		}
	}
	for path, methods := range r.paths {
		for method, o := range methods {
			if _, ok := r.outcomes[o.ID]; !ok {
				t.Errorf("%s %s was not called", method, path)
			}
		}
	}
	if !slices.ContainsFunc(r.complete.Paths, func(p openapi.Member[*openapi.Path]) bool { return r.paths[p.Name] != nil }) {
		t.Error("the document has no operation")
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
