package search

// hideCosts clears the counts and the durations of a result, so that it reveals nothing
// about the index beyond its matches. The caller can measure the time of an answer, but
// not as precisely as the server.
func (r *Result) hideCosts() {
	s := &r.Stats
	r.CostsHidden = true
	r.Stats = Stats{Matches: s.Matches, Files: s.Files, Displayed: s.Displayed}
	if r.Explain != nil {
		r.Explain.Segments, r.Explain.Stages = []SegmentExplain{}, Stages{}
	}
}
