package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Step is a part of a run that can be requested separately.
type Step string

// These are the steps, in the order in which they are run for each program.
const (
	StepMachine Step = "machine" // memory bandwidth, which bounds scans
	StepImport  Step = "import"  // timed imports; the other steps use the existing index
	StepCore    Step = "core"    // the core of indexing alone
	StepCold    Step = "cold"    // start with files that are not in memory
	StepSuite   Step = "suite"   // the query suite; memory and disk after it
	StepClasses Step = "classes" // query classes outside of the suite: rare literals, symbols
	StepLoad    Step = "load"    // throughput
	StepStable  Step = "stable"  // whether the same request returns the same list
	StepStream  Step = "stream"  // first part of a streamed answer
	StepScans   Step = "scans"   // exact counts that an index hardly speeds up
	StepPushes  Step = "pushes"  // freshness

	// These steps create their own indexes and are run last.
	StepFreshness  Step = "freshness"  // pushes at given rates, on every log
	StepThroughput Step = "throughput" // a backlog of pushes, on every log
	StepBranches   Step = "branches"   // many branches of one repository
)

// Steps contains all steps.
var Steps = []Step{StepMachine, StepImport, StepCore, StepCold, StepSuite, StepClasses, StepLoad, StepStable, StepStream, StepScans, StepPushes, StepFreshness, StepThroughput, StepBranches}

// ErrStep is returned for an unknown step.
var ErrStep = errors.New("no such step")

// ParseSteps parses names of steps. An empty list means all.
func ParseSteps(names []string) ([]Step, error) {
	var steps []Step
	for _, name := range names {
		if !slices.Contains(Steps, Step(name)) {
			return nil, fmt.Errorf("%w: %q; there are %s", ErrStep, name, strings.Trim(fmt.Sprint(Steps), "[]"))
		}
		steps = append(steps, Step(name))
	}
	if len(steps) == 0 {
		return Steps, nil
	}
	return steps, nil
}

// ownSteps are the steps that create their own indexes.
var ownSteps = []Step{StepFreshness, StepThroughput, StepBranches}

// takesSharedStep reports whether any requested step uses the indexes of the sets.
func (b *bench) takesSharedStep() bool {
	return slices.ContainsFunc(b.Steps, func(s Step) bool { return !slices.Contains(ownSteps, s) })
}

// needsSets reports whether any requested step uses the repositories of the sets.
func (b *bench) needsSets() bool {
	return slices.ContainsFunc(b.Steps, func(s Step) bool { return s != StepBranches })
}

func (b *bench) takesStep(s Step) bool { return slices.Contains(b.Steps, s) }

// ParseSets parses names of sets and returns them in the order of import. An empty list
// means all.
func ParseSets(names []string) ([]string, error) {
	for _, name := range names {
		if !slices.Contains(Sets, name) {
			return nil, fmt.Errorf("%w: %q is none of %v", ErrSets, name, Sets)
		}
	}
	if len(names) == 0 {
		return Sets, nil
	}
	return slices.DeleteFunc(slices.Clone(Sets), func(set string) bool { return !slices.Contains(names, set) }), nil
}
