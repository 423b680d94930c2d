package api

import (
	"net/url"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// fileLinks are what the pages of all files of one ref of a repository have in common.
type fileLinks struct {
	repo   *search.Repository
	number code.RepositoryNumber // of repo
	ref    code.Ref
	// web precedes the path in the address of the page on this server.
	web string
	// before and after are the parts around the path in the address of the page on
	// the code host; before is empty if the host has none that we know.
	before, after string
	// inQuery says that the path is in the query of that address.
	inQuery bool
}

func (s *Server) linksOf(r *search.Repository, ref code.Ref) fileLinks {
	l := fileLinks{repo: r, ref: ref, number: s.numberOf(r.ID), web: s.filesURL(r.Name, ref)}
	l.before, l.after, l.inQuery = externalFilesURL(&r.Repository, ref)
	return l
}

// appendFile appends the address of the page of a file on this server.
func (l *fileLinks) appendFile(b []byte, path string) []byte {
	return source.AppendEscapedPath(append(b, l.web...), path, false)
}

// appendExternal appends the address of the page of a file on its code host;
// nothing if the host has none that we know.
func (l *fileLinks) appendExternal(b []byte, path string) []byte {
	switch {
	case l.before == "":
		return b
	case l.inQuery:
		b = append(append(b, l.before...), url.QueryEscape(path)...)
	default:
		b = source.AppendEscapedPath(append(b, l.before...), path, true)
	}
	return append(b, l.after...)
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

// externalFilesURL returns the parts before and after the path of a file in the
// address of its page on the code host, and whether the path is in a query. All are
// empty if the host has no pages that we know.
func externalFilesURL(r *code.Repository, ref code.Ref) (before, after string, inQuery bool) {
	web := externalURL(r)
	if web == "" {
		return "", "", false
	}
	branch := "HEAD"
	if ref != "" {
		branch = ref.Short()
	}
	b := escapePath(branch)
	switch r.Kind {
	case code.GitHub:
		return web + "/blob/" + b + "/", "", false
	case code.GitLab:
		return web + "/-/blob/" + b + "/", "", false
	case code.Gitea:
		return web + "/src/branch/" + b + "/", "", false
	case code.AzureDevOps:
		return web + "?path=", "&version=" + url.QueryEscape(branch), true
	case code.BitbucketCloud:
		return web + "/src/" + b + "/", "", false
	case code.BitbucketServer:
		return web + "/browse/", "?at=" + url.QueryEscape(branch), false
	case code.Gerrit:
		return web + "/+/" + b + "/", "", false
	}
	return "", "", false
}

// externalURL is the repository's page on its code host. It becomes a link in
// other people's pages, so nothing but http(s) is let through.
func externalURL(r *code.Repository) string {
	if !strings.HasPrefix(r.WebURL, "https://") && !strings.HasPrefix(r.WebURL, "http://") {
		return ""
	}
	return strings.TrimRight(r.WebURL, "/")
}

// escapePath escapes the elements of a path and keeps its slashes.
func escapePath(p string) string { return string(source.AppendEscapedPath(nil, p, true)) }
