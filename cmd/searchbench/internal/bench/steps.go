package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Step is a part of a run that can be requested alone.
type Step string

// The steps, in the order in which they are taken of each program.
const (
	StepMachine Step = "machine" // what bounds a scan here
	StepImport  Step = "import"  // imports, timed; the others take the index that is there
	StepCore    Step = "core"    // the core of indexing alone
	StepCold    Step = "cold"    // start with files out of memory
	StepSuite   Step = "suite"   // the query suite; memory and disk after it
	StepClasses Step = "classes" // query classes outside of the suite: rare literals, symbols
	StepLoad    Step = "load"    // throughput
	StepStable  Step = "stable"  // the same request, the same list?
	StepStream  Step = "stream"  // the first part of an answer in parts
	StepScans   Step = "scans"   // exact counts that an index helps little
	StepPushes  Step = "pushes"  // freshness

	// These make indexes of their own and are taken last.
	StepFreshness  Step = "freshness"  // pushes at given rates, on every log
	StepThroughput Step = "throughput" // a backlog of pushes, on every log
	StepBranches   Step = "branches"   // many branches of one repository
)

// Steps are all of them.
var Steps = []Step{StepMachine, StepImport, StepCore, StepCold, StepSuite, StepClasses, StepLoad, StepStable, StepStream, StepScans, StepPushes, StepFreshness, StepThroughput, StepBranches}

// ErrStep is returned for a name that is no step's.
var ErrStep = errors.New("no such step")

// ParseSteps reads names of steps; none means all.
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

// ownSteps make their own indexes.
var ownSteps = []Step{StepFreshness, StepThroughput, StepBranches}

// takesSharedStep says whether any step is taken that wants the indexes of the sets.
func (b *bench) takesSharedStep() bool {
	return slices.ContainsFunc(b.Steps, func(s Step) bool { return !slices.Contains(ownSteps, s) })
}

// needsSets says whether any step is taken that wants the repositories of the sets.
func (b *bench) needsSets() bool {
	return slices.ContainsFunc(b.Steps, func(s Step) bool { return s != StepBranches })
}

func (b *bench) takesStep(s Step) bool { return slices.Contains(b.Steps, s) }

// ParseSets reads names of sets and gives them in the order in which they are imported; none means all.
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
