package bench

// These are the goals, as factors relative to the better of zoekt's two engines, and as
// bounds.
const (
	goalLinuxFactor = 6.0
	goalLinuxPeak   = 600 << 20
	goalMixedFactor = 5.0
	goalCoreFactor  = 3.0
	goalDiskPerText = 0.60
	goalMemory      = 700 << 20
	goalColdFactor  = 2.0
	goalSuiteFactor = 6.0
	goalEasyFactor  = 3.0
	goalRareFactor  = 3.0 // p50 and p99
	goalLoadFactor  = 4.0
	goalHeavyFactor = 15.0
	goalSlowest     = 5.0 // slowest p99 of any query
)

// classGoals are rows that cover several classes of the suite.
var classGoals = []struct {
	figure  string
	classes []string
	factor  float64
}{
	{"common literal, first 100", []string{"common-literal"}, 7},
	{"1–2 characters, first 100", []string{"1-char", "2-char"}, 10},
	{"alternation, any case, first 100", []string{"regex-alternation"}, 10},
	{"regex without a literal, first 100", []string{"regex-no-literal"}, 5},
}

// symbolGoals are rows of query classes outside of the suite.
var symbolGoals = []struct {
	figure, class string
	factor        float64
}{
	{"symbols by exact name", "symbol-exact", 3},
	{"symbols by regular expression", "symbol-regex", 5},
	{"symbols, common", "symbol-common", 5},
}

// scanGoals are factors by name of a scan. Scans that are not listed are compared with
// ripgrep only.
var scanGoals = map[string]float64{"scan-return": 2, "scan-int": 2, "scan-if": 4, "scan-never": 8}
