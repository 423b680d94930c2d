package api

import (
	"net/url"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// fileURL is the page of a file in Quarry's own UI.
func (s *Server) fileURL(repository string, ref code.Ref, path string) string {
	at := ""
	if ref != "" {
		at = "@" + escapePath(string(ref))
	}
	return s.o.PublicURL + "/browse/" + escapePath(repository) + at + "/-/blob/" + url.PathEscape(path)
}

// repositoryURL is the root page of a repository in Quarry's own UI.
func (s *Server) repositoryURL(repository string) string {
	return s.o.PublicURL + "/browse/" + escapePath(repository) + "/-/tree/"
}

// externalFileURL is the page of a file on its code host; empty if the host has
// none that we know.
func externalFileURL(r *code.Repository, ref code.Ref, path string) string {
	web := externalURL(r)
	if web == "" {
		return ""
	}
	branch := "HEAD"
	if ref != "" {
		branch = ref.Short()
	}
	b, p := escapePath(branch), escapePath(path)
	switch r.Kind {
	case code.GitHub:
		return web + "/blob/" + b + "/" + p
	case code.GitLab:
		return web + "/-/blob/" + b + "/" + p
	case code.Gitea:
		return web + "/src/branch/" + b + "/" + p
	case code.AzureDevOps:
		return web + "?path=" + url.QueryEscape(path) + "&version=" + url.QueryEscape(branch)
	case code.BitbucketCloud:
		return web + "/src/" + b + "/" + p
	case code.BitbucketServer:
		return web + "/browse/" + p + "?at=" + url.QueryEscape(branch)
	case code.Gerrit:
		return web + "/+/" + b + "/" + p
	}
	return ""
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
func escapePath(p string) string {
	elements := strings.Split(p, "/")
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return strings.Join(elements, "/")
}
