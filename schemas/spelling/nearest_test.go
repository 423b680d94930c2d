package spelling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"listen", "lisen", 1}, {"python", "pyhton", 1}, {"ab", "ba", 1}, {"abc", "ca", 3}, {"main", "mian", 1}} {
		for limit := range 5 {
			want := min(c.want, limit+1)
			if got := Distance(c.a, c.b, limit); got != want {
				t.Errorf("Distance(%q, %q, %d) = %d, want %d", c.a, c.b, limit, got, want)
			}
			if got := Distance(c.b, c.a, limit); got != want {
				t.Errorf("Distance(%q, %q, %d) = %d, want %d", c.b, c.a, limit, got, want)
			}
		}
	}
}

// TestDistanceAgreesWithTheWholeTable compares Distance with a computation of all cells, for
// words shorter and longer than those for which it allocates nothing.
func TestDistanceAgreesWithTheWholeTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte('a' + byte(rng.IntN(3)))
		}
		return b.String()
	}
	for i := range 3000 {
		length := rng.IntN(12)
		if i%10 == 0 {
			length = maxShortBytes - 2 + rng.IntN(4)
		}
		a := word(length)
		b := a[rng.IntN(len(a)+1)/4:] + word(rng.IntN(3))
		if i%2 == 0 {
			b = word(max(length+rng.IntN(5)-2, 0))
		}
		want := wholeDistance(a, b)
		for limit := range 8 {
			if got := Distance(a, b, limit); got != min(want, limit+1) {
				t.Fatalf("Distance(%q, %q, %d) = %d, want %d", a, b, limit, got, min(want, limit+1))
			}
		}
	}
}

// wholeDistance computes every cell of the table by its definition.
func wholeDistance(a, b string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0 || j == 0:
				table[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				table[i][j] = table[i-1][j-1]
			default:
				table[i][j] = 1 + min(table[i-1][j-1], table[i-1][j], table[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(a)][len(b)]
}

func TestNearest(t *testing.T) {
	names := []string{"github.com/meadow/kettle", "github.com/meadow/kettle-lid", "github.com/prairie/kettle", "gitlab.com/meadow/teapot", "odd", "odd", "host/db/pebble/v2"}
	for word, want := range map[string]string{
		"kettle":                   "github.com/meadow/kettle github.com/prairie/kettle github.com/meadow/kettle-lid",
		"Meadow/Kettle":            "github.com/meadow/kettle github.com/meadow/kettle-lid",
		"meadow/kettel":            "github.com/meadow/kettle",
		"github.com/meadow/ketle":  "github.com/meadow/kettle github.com/meadow/kettle-lid",
		"od":                       "odd",
		"teaopt":                   "gitlab.com/meadow/teapot",
		"pebbel":                   "host/db/pebble/v2",
		"something/else/entirely":  "",
		strings.Repeat("a", 1<<16): "",
		"":                         "",
	} {
		if got := strings.Join(Nearest(word, slices.Values(names), 5), " "); got != want {
			t.Errorf("%.50s: %q, want %q", word, got, want)
		}
	}
	if got := Nearest("kettle", slices.Values(names), 1); len(got) != 1 || got[0] != names[0] {
		t.Errorf("one name: %q", got)
	}
}

// TestNearestTakesNoOrder checks that the order of the names does not matter.
func TestNearestTakesNoOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("host/%c%c%d", 'a'+rng.IntN(3), 'a'+rng.IntN(3), i%7))
	}
	want := Nearest("host/ab3", slices.Values(names), 5)
	for range 20 {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		if got := Nearest("host/ab3", slices.Values(names), 5); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 3))
	var names []string
	for range 10_000 {
		name := ""
		for range 3 + rng.IntN(12) {
			name += string(rune('a' + rng.IntN(26)))
		}
		names = append(names, "host.example/team/"+name)
	}
	for b.Loop() {
		Nearest("team/kettel", slices.Values(names), 5)
	}
}
