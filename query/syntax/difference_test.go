package syntax

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// checkCompared checks invariant 5 of the package: what Parse guarantees about the
// established server.
func checkCompared(t *testing.T, text string, o Options, ours *Parsed, err error) {
	t.Helper()
	theirs := readEstablished(text, o)
	if theirs == nil {
		return
	}
	if err != nil {
		t.Fatalf("%q (%+v) is refused, and read as %s by the established server: %v", text, o, dumpTree(theirs), err)
	}
	i := slices.IndexFunc(ours.Notices, func(n Notice) bool { return n.Code == DifferentMeaning && n.Filter == "" })
	if meansSame(ours, theirs) {
		// The refs of rev: may differ in any case.
		if i >= 0 && !strings.Contains(ours.Notices[i].Message, "rev:") {
			t.Fatalf("%q (%+v) means %s here and there, and has the notice %q", text, o, dumpTree(theirs), ours.Notices[i].Message)
		}
		return
	}
	if i < 0 {
		if len(ours.Notices) < MaxNotices {
			t.Fatalf("%q (%+v) means %s here and %s there, without a notice", text, o, dumpTree(ours.Root), dumpTree(theirs))
		}
		return
	}
	if len(ours.Notices[i].Suggestions) == 0 {
		if len(text) < maxSuggestedBytes/2-2 {
			t.Fatalf("%q (%+v): the notice %q suggests nothing", text, o, ours.Notices[i].Message)
		}
		return
	}
	again, err := Parse(ours.Notices[i].Suggestions[0], o)
	if err != nil || !sameTree(again.Root, theirs) || again.Type != TypeDefault || again.Select != SelectDefault {
		t.Fatalf("%q (%+v) is read as %s there; the suggestion %q is %v here: %v", text, o, dumpTree(theirs), ours.Notices[i].Suggestions[0], again, err)
	}
}

// comparedPieces are query fragments that the two servers read differently.
var comparedPieces = []string{"a", "Foo", "-", "or", "OR", "and", "AND", "not", "NOT", " ", " ", " ", "\t", "\n", "\r", "(", ")", "()", `"`, `"a b"`, `\"`, `\`, ":", "::", "//", "|", "*", "[", "]", "1", ",", ";",
	"file:", "f:", "repo:", "r:", "content:", "c:", "lang:", "sym:", "rev:", "context:", "reposet:", "archived:", "fork:", "visibility:", "yes", "no", "only", "public", "any",
	"case:", "type:", "select:", "branch:", "language:", "l:", "regex:", "literal:", "path:", "foo:", "string", "é"}

// TestNothingIsSilentlyDifferent checks random queries built from such fragments.
func TestNothingIsSilentlyDifferent(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	taken, differs := 0, 0
	for range 10_000 {
		text := ""
		for range 1 + rng.IntN(9) {
			text += comparedPieces[rng.IntN(len(comparedPieces))]
		}
		for _, o := range allOptions {
			ours, err := Parse(text, o)
			checkCompared(t, text, o, ours, err)
			if theirs := readEstablished(text, o); theirs != nil {
				taken++
				if !meansSame(ours, theirs) {
					differs++
				}
			}
		}
	}
	if taken < 10_000 || differs < 3_000 {
		t.Errorf("only %d queries taken there, %d of them different", taken, differs)
	}
}
