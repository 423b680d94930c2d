package segment

// Meta describes the segment. SizeBytes is only known for a segment that was opened with
// OpenFile.
func (r *Reader) Meta() Meta {
	return Meta{
		ID: r.id, SizeBytes: r.size, TextBytes: int64(r.head.textBytes),
		Documents: r.head.documents, Symbols: r.head.symbols,
	}
}
