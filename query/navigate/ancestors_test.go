package navigate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/navigate"
)

// TestAncestorsInALattice checks that a type which is reached in many ways, or extends itself,
// counts once: otherwise, the bound on ancestors ends the walk below the type that declares
// the method.
func TestAncestorsInALattice(t *testing.T) {
	var c scripted
	const levels = 8
	for n := range levels {
		for _, side := range []string{"L", "R"} {
			bases := fmt.Sprintf("L%d, R%d", n+1, n+1)
			if n == levels-1 {
				bases = "Root, " + side + "0"
			}
			c.add("a", fmt.Sprintf("%s%d.py", strings.ToLower(side), n), fmt.Sprintf("class %s%d(%s):\n    pass\n", side, n, bases))
		}
	}
	c.add("a", "root.py", "class Root:\n    def run(self):\n        pass\n")
	c.add("a", "leaf.py", "class Leaf(L0):\n    def run(self):\n        pass\n")
	out := c.ask(t, "uses", "a/leaf.py:2:run", navigate.Request{})
	if strings.Contains(out, "namesake") || !strings.Contains(out, "a/root.py:2") {
		t.Errorf("the method of the root is not the one that the leaf overrides:\n%s", out)
	}
}

// TestMembersAmongMany checks that a Go type with the methods of an interface implements it
// even if more types than a look-up lists have methods with these names.
func TestMembersAmongMany(t *testing.T) {
	var c scripted
	c.add("a", "spec/spec.go", "package spec\n\ntype Runner interface {\n\tRun()\n\tHalt()\n}\n")
	for n := range 600 {
		c.add("a", fmt.Sprintf("p%03d/x.go", n), "package p\n\ntype T struct{}\n\nfunc (T) Halt() {}\n")
	}
	c.add("a", "zz/z.go", "package zz\n\ntype Engine struct{}\n\nfunc (Engine) Run() {}\nfunc (Engine) Halt() {}\n")
	out := c.ask(t, "uses", "a/spec/spec.go:4:Run", navigate.Request{})
	if strings.Contains(out, "namesake") || !strings.Contains(out, "a/zz/z.go:5") {
		t.Errorf("the engine does not implement the interface:\n%s", out)
	}
}

// TestMembersInACycle checks that a member is found although types extend each other, in more
// ways than there is time for.
func TestMembersInACycle(t *testing.T) {
	var c scripted
	var classes []string
	for n := range 12 {
		classes = append(classes, fmt.Sprintf("C%d", n))
	}
	var text strings.Builder
	text.WriteString("from root import Root\nclass Other:\n    def run(self): pass\n")
	for _, class := range classes {
		fmt.Fprintf(&text, "class %s(%s):\n    pass\n", class, strings.Join(classes, ", "))
	}
	text.WriteString("class Leaf(C0, Root):\n    pass\ndef use(x: Leaf):\n    x.run()\n")
	c.add("a", "cycle.py", text.String())
	c.add("a", "root.py", "class Root:\n    def run(self):\n        pass\n")
	if out := c.ask(t, "means", "a/cycle.py:31:run", navigate.Request{}); !strings.Contains(out, "meaning definition a/root.py:2") {
		t.Errorf("the method of the root is not found:\n%s", out)
	}
}
