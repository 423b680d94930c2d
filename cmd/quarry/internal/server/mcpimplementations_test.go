package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPImplementations finds implementations in languages that declare them, and types
// with the methods of Go interfaces.
func TestMCPImplementations(t *testing.T) {
	t.Parallel()
	dir := gitTree(t, map[string]string{
		"ware.go":        "package ware\n\ntype Kettle interface {\n\tBoil() error\n\tPour(n int)\n}\n\ntype Empty interface{}\n\nfunc use(k Kettle) {}\n",
		"iron/iron.go":   "package iron\n\ntype Iron struct{}\n\nfunc (*Iron) Boil() error { return nil }\nfunc (i *Iron) Pour(n int) {}\n\ntype Half struct{}\n\nfunc (Half) Boil() error { return nil }\n",
		"copper/pot.go":  "package copper\n\ntype Iron int\n\ntype Pot[T any] struct{}\n\nfunc (p *Pot[T]) Boil() error { return nil }\n",
		"copper/pour.go": "package copper\n\nfunc (p *Pot[T]) Pour(n int) {}\n\nvar _ ware.Kettle = (*Pot[int])(nil)\n",
		"Iron.java":      "public class Iron<T extends Kettle> extends Ware implements Closeable, Kettle<T> {\n  Kettle other;\n}\nclass User<T extends Kettle> { }\nenum Size implements Kettle { ONE }\n",
		"iron.ts":        "export class Iron extends Kettle {}\nexport interface Big extends Base, Kettle { size: number }\nclass KettleUser extends KettleBase {}\nconst k: Kettle = new Iron();\n",
		"iron.py":        "class Iron(Base, ware.Kettle):\n    pass\n\nclass Other(KettleBase):\n    pass\n\ndef f(k: Kettle): pass\n",
		"iron.rs":        "impl<T> ware::Kettle for Iron<T> {\n}\nimpl Iron { fn new(k: Kettle) {} }\n",
		"iron.cs":        "public sealed class Iron : Ware, Kettle\n{\n}\n",
		"iron.kt":        "class Iron(val other: Kettle) : Ware(), Kettle {\n}\nclass User(val k: Kettle)\n",
		"iron.rb":        "class Iron < Ware::Kettle\nend\n",
		"iron.cpp":       "class Iron final : public Kettle {\n};\n",
	})
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir)))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"ware"}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	session := connectAgent(t, s.URL())
	for _, c := range []struct{ arguments, want string }{
		{`{"symbol":"Kettle"}`, "Iron.java:1 Iron.java:5 copper/pot.go:5 copper/pour.go:5 iron.cpp:1 iron.cs:1 iron.kt:1 iron.py:1 iron.rb:1 iron.rs:1 iron.ts:1 iron.ts:2 iron/iron.go:3"},
		{`{"symbol":"Kettle","language":"Go","repo":"ware"}`, "copper/pot.go:5 copper/pour.go:5 iron/iron.go:3"},
		{`{"symbol":"Kettle","language":"Java","ref":"main"}`, "Iron.java:1 Iron.java:5"},
		{`{"symbol":"Kettle","language":"Go","ref":"main"}`, "copper/pot.go:5 copper/pour.go:5 iron/iron.go:3"},
		{`{"symbol":"Empty"}`, ""},
		{`{"symbol":"Ware"}`, "Iron.java:1 iron.cs:1 iron.kt:1"},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "find_implementations", Arguments: json.RawMessage(c.arguments)})
		if err != nil {
			t.Fatal(err)
		}
		text := result.Content[0].(*mcp.TextContent).Text
		var got []string
		file := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if number, _, ok := strings.Cut(line, ": "); ok {
				got = append(got, file+":"+number)
			} else if before, ok := strings.CutSuffix(line, ":"); ok {
				file = before
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s\n%s", c.arguments, got, c.want, text)
		}
	}
}
