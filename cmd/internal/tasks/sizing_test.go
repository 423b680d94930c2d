package main

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

const sizingPage = "../../../docs/sizing.md"

// TestSizingIsCurrent compares the tables of docs/sizing.md with what follows from sizing.json.
func TestSizingIsCurrent(t *testing.T) {
	const begin, end = "<!-- sizing: written by make generate -->\n", "<!-- end of sizing -->\n"
	tables, err := makeSizingTables()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(sizingPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has lost the marks around its tables", sizingPage)
	}
	want := before + begin + "\n" + tables + "\n" + end + after
	if os.Getenv("QUARRY_GENERATE") != "" {
		if err := os.WriteFile(sizingPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Errorf("%s does not follow from sizing.json any more: run make generate", sizingPage)
	}
}

// TestPlan checks plans whose figures can be computed by hand.
func TestPlan(t *testing.T) {
	var s sizing
	err := json.Unmarshal([]byte(`{
		"figures": {
			"importBytesPerSecond": {"value": 1000000}, "indexBytesPerByte": {"value": 0.5}, "heapBytesPerByte": {"value": 0.01},
			"heapBytesPerRepository": {"value": 1000}, "querySeconds": {"value": 1}, "querySecondsPerGigabyte": {"value": 0.1},
			"fanoutFactor": {"value": 2}, "listBytesPerRepository": {"value": 10}, "pushSeconds": {"value": 0.5},
			"logBytesPerPush": {"value": 100}, "mirrorInodes": {"value": 3}, "mirrorBytes": {"value": 7}
		},
		"assumptions": {
			"textBytesPerRepository": 1000000, "repositoriesPerPerson": 1, "searchesPerPersonPerDay": 36, "pushesPerPersonPerDay": 3.6,
			"workingHours": 1, "peakFactor": 1, "replicas": 2
		},
		"machine": {"processors": 10, "memoryBytes": 1000000000, "diskBytes": 1000000000}
	}`), &s)
	if err != nil {
		t.Fatal(err)
	}
	small := s.planFor(100) // 0.1 GB of text, a search a second of one second
	if small.shards != 1 || small.searchSeconds != 1 || small.listBytes != 0 || small.byProcessors != 1 || small.replicas != 2 || small.partitions != minPartitions {
		t.Errorf("100 repositories: %+v", small)
	}
	large := s.planFor(10_000) // 10 GB: 5 GB of index on disks of 0.7 GB, 100 searches a second of twice 1 + 0.878 s
	if large.byDisk != 16 || large.byHeap != 2 || large.shards != 8 || large.partitions != 16 || large.listBytes != 100_000 || large.pushes != 10 || large.workers != 5 {
		t.Errorf("10,000 repositories: %+v", large)
	}
	if want := 2 * (1 + 0.1*(10-measuredGigabytes)); math.Abs(large.searchSeconds-want) > 1e-9 || large.byProcessors != 63 || large.replicas != 8 || !strings.HasPrefix(large.decides, "processors") {
		t.Errorf("searches over 10,000 repositories: %+v", large)
	}
}
