package reconcile

import (
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The results of a check: metric labels and parts of API responses.
const (
	ResultEqual    = "equal"
	ResultWaiting  = "waiting"
	ResultSuspect  = "suspect"
	ResultDrift    = "drift"
	ResultReported = "reported"
	ResultFailed   = "failed"
)

// results is ordered: if a repository has several differences, the last applicable result
// counts.
var results = []string{ResultEqual, ResultWaiting, ResultReported, ResultSuspect, ResultDrift, ResultFailed}

// difference is a ref whose commit differs from the one in the log.
type difference struct {
	ref           code.Ref
	action        event.Action
	before, after code.CommitID
}

// findDifferences compares the current repository with the indexed refs, in order of ref.
// A changed default branch, a repository without indexed refs, and more than maxPushes
// refs are each one difference of everyRef.
func (k *repository) findDifferences(s mirror.State) []difference {
	indexed := k.indexedRefs()
	all := []difference{{ref: everyRef, action: event.ActionRefresh}}
	if len(s.Revisions) > 0 && (len(indexed) == 0 || s.Default != k.head) {
		return all
	}
	var out []difference
	for _, is := range s.Revisions {
		was, ok := indexed[is.Ref]
		delete(indexed, is.Ref)
		switch {
		case !ok:
			out = append(out, difference{is.Ref, event.ActionCreated, "", is.Commit})
		case was != is.Commit:
			out = append(out, difference{is.Ref, event.ActionUpdated, was, is.Commit})
		}
	}
	for name, was := range indexed {
		out = append(out, difference{name, event.ActionDeleted, was, ""})
	}
	if len(out) > maxPushes {
		return all
	}
	slices.SortFunc(out, func(a, b difference) int { return strings.Compare(string(a.ref), string(b.ref)) })
	return out
}

// lookResult is the result of a check of a repository.
type lookResult struct {
	result string
	// drift contains the differences that need a Push; fresh counts those that are not
	// yet known from the log.
	drift     []difference
	newDrifts int
	suspects  map[code.Ref]suspect
}

// classifyDifferences classifies the differences. committed is the workers' committed
// offset; next is the offset up to which the log was read. Both were read after the
// repository was listed.
func (k *repository) classifyDifferences(found []difference, committed, next event.Offset, now time.Time, o *Options) lookResult {
	v := lookResult{result: ResultEqual, suspects: map[code.Ref]suspect{}}
	every := k.refs[everyRef]
	for _, d := range found {
		r := k.refs[d.ref]
		if r == nil {
			r = &ref{}
		}
		was, suspected := k.suspects[d.ref]
		switch {
		case r.pushedNext > committed, every != nil && every.pushedNext > committed:
			v.raiseResult(ResultWaiting)
		case r.ownPushes > 0 && now.Before(r.lastOwnPushAt.Add(backoffInterval(r.ownPushes, o.Interval))):
			v.raiseResult(ResultReported)
		case suspected && now.Sub(was.at) >= o.Grace && r.pushedNext <= was.next:
			v.drift = append(v.drift, d)
			if k.isKnownDifference(d, r) {
				v.raiseResult(ResultReported)
				break
			}
			v.raiseResult(ResultDrift)
			v.newDrifts++
		case suspected && r.pushedNext <= was.next:
			v.raiseResult(ResultSuspect)
			v.suspects[d.ref] = was
		default:
			v.raiseResult(ResultSuspect)
			v.suspects[d.ref] = suspect{now, next}
		}
	}
	return v
}

func (v *lookResult) raiseResult(result string) {
	if slices.Index(results, result) > slices.Index(results, v.result) {
		v.result = result
	}
}
