package api

import (
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// fileLinks holds what the page addresses of all files of one ref have in common.
type fileLinks struct {
	repo   *corpus.Repository
	number code.RepositoryNumber // of repo
	ref    code.Ref
	// web is the address prefix of a file's page on this server.
	web string
	// external formats the addresses of pages on the code host.
	external pageurl.Files
}

func (s *Server) linksOf(r *corpus.Repository, ref code.Ref) fileLinks {
	files := source.Address{Repository: r.Name, Revision: revisionOf(ref), Kind: source.PageBlob} // the prefix of their pages
	return fileLinks{repo: r, ref: ref, number: s.numberOf(r.ID), web: s.o.PublicURL + files.String(), external: pageurl.New(&r.Repository).Files(ref)}
}

// appendFile appends the address of the page of a file on this server.
func (l *fileLinks) appendFile(b []byte, path string) []byte {
	return source.AppendPath(append(b, l.web...), path)
}

// fileURL returns the address of the page of a file.
func (s *Server) fileURL(repository string, ref code.Ref, path string) string {
	return s.o.PublicURL + source.Address{Repository: repository, Revision: revisionOf(ref), Kind: source.PageBlob, Path: path}.String()
}

// revisionOf returns the revision in the address of a page at a ref: the commit of a pin,
// otherwise the full name.
func revisionOf(ref code.Ref) string {
	if ref.IsPin() {
		return ref.Short()
	}
	return string(ref)
}
