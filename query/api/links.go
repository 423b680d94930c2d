package api

import (
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// fileLinks are what the pages of all files of one ref of a repository have in common.
type fileLinks struct {
	repo   *search.Repository
	number code.RepositoryNumber // of repo
	ref    code.Ref
	// web precedes the path in the address of the page on this server.
	web string
	// external are the pages of the files on the code host.
	external pageurl.Files
}

func (s *Server) linksOf(r *search.Repository, ref code.Ref) fileLinks {
	return fileLinks{repo: r, ref: ref, number: s.numberOf(r.ID), web: s.filesURL(r.Name, ref), external: pageurl.New(&r.Repository).Files(ref)}
}

// appendFile appends the address of the page of a file on this server.
func (l *fileLinks) appendFile(b []byte, path string) []byte {
	return pageurl.AppendPath(append(b, l.web...), path, false)
}

// filesURL is what precedes the path of a file in the address of its page.
func (s *Server) filesURL(repository string, ref code.Ref) string {
	return s.o.PublicURL + source.Address{Repository: repository, Revision: string(ref), Kind: source.PageBlob}.String()
}

// fileURL is the address of the page of a file.
func (s *Server) fileURL(repository string, ref code.Ref, path string) string {
	return s.o.PublicURL + source.Address{Repository: repository, Revision: string(ref), Kind: source.PageBlob, Path: path}.String()
}

// repositoryURL is the address of the root page of a repository.
func (s *Server) repositoryURL(repository string) string {
	return s.o.PublicURL + source.Address{Repository: repository, Kind: source.PageTree}.String()
}
