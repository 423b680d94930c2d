package places

// DropRevisions empties the cache of resolved refs.
func (p *Places) DropRevisions() {
	p.revisions = newRevisionCache(DefaultRevisionCacheBytes)
}
