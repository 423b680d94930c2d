package reconcile

import "github.com/quarrysearch/quarry/schemas/code"

// hostOf returns the host that a repository is cloned from; empty for a path.
func hostOf(k *repository) string {
	clone, err := code.ParseCloneURL(k.CloneURL)
	if err != nil {
		return ""
	}
	return clone.Host
}

// noteUnreachableLocked records that the host of k did not answer.
func (r *Reconciler) noteUnreachableLocked(k *repository) {
	if k.gone {
		return
	}
	k.unreachableHost = hostOf(k)
	if k.unreachableHost == "" {
		return
	}
	if r.mu.unreachable[k.unreachableHost] == nil {
		r.mu.unreachable[k.unreachableHost] = map[code.RepositoryID]*repository{}
	}
	r.mu.unreachable[k.unreachableHost][k.ID] = k
}

// noteReachedLocked undoes noteUnreachableLocked, if it was called.
func (r *Reconciler) noteReachedLocked(k *repository) {
	delete(r.mu.unreachable[k.unreachableHost], k.ID)
	if len(r.mu.unreachable[k.unreachableHost]) == 0 {
		delete(r.mu.unreachable, k.unreachableHost)
	}
	k.unreachableHost = ""
}

// retryHostLocked is called when the host of k has answered. It reschedules within one
// interval the repositories that wait, up to MaxBackoff, because the host did not answer.
func (r *Reconciler) retryHostLocked(k *repository) {
	for _, other := range r.mu.unreachable[hostOf(k)] {
		r.noteReachedLocked(other)
		other.failures = 0
		// Only if that is earlier. A repository that is not scheduled is being checked
		// now.
		if due := nextLook(other.ID, r.o.Now(), r.o.Interval); other.index != unscheduled && due.Before(other.due) {
			r.mu.schedule.removeRepository(other)
			r.scheduleLocked(other, due)
		}
	}
}
