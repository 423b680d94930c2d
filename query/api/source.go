package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

type sourceResponse struct {
	Source         string        `json:"source"`
	Language       code.Language `json:"language"`
	Path           string        `json:"path"`
	Repo           string        `json:"repo"`
	Kind           code.HostKind `json:"repoCodeHostType"`
	DisplayName    string        `json:"repoDisplayName,omitempty"`
	RepoWebURL     string        `json:"repoExternalWebUrl,omitempty"`
	WebURL         string        `json:"webUrl"`
	ExternalWebURL string        `json:"externalWebUrl,omitempty"`
	BlobSHA        string        `json:"blobSha,omitempty"`
}

// maxPathParameter lets a path that is too long be no path, not a bad parameter.
const maxPathParameter = 64 << 10

func (s *Server) source(r *http.Request) (*reply, error) {
	p := queryParams(r)
	path, ref := p.required("path", maxPathParameter), p.text("ref", maxPathParameter)
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	file, err := s.o.Source.File(r.Context(), repository, ref, path)
	if err != nil {
		return nil, err
	}
	var external links
	external.before, external.after, external.inQuery = externalFilesURL(repository, code.Ref(ref))
	return ok(&sourceResponse{
		Source: string(file.Text), Language: file.Language, Path: path, Repo: repository.Name,
		Kind: repository.Kind, DisplayName: displayName(repository), RepoWebURL: externalURL(repository),
		WebURL: s.fileURL(repository.Name, code.Ref(ref), path), ExternalWebURL: string(external.appendExternal(nil, path)), BlobSHA: file.Blob,
	}), nil
}

// revisionRequest is the body of POST /api/files and, with paths, of /api/tree.
type revisionRequest struct {
	RepoName     *string   `json:"repoName"`
	RevisionName *string   `json:"revisionName"`
	Paths        *[]string `json:"paths"`
}

// revisionOf reads the body of a request about a revision.
func (s *Server) revisionOf(r *http.Request, in *revisionRequest) (*code.Repository, error) {
	if err := s.decodeBody(r, in); err != nil {
		return nil, err
	}
	switch {
	case in.RepoName == nil:
		return nil, fmt.Errorf("%w: repoName is required", errBody)
	case in.RevisionName == nil:
		return nil, fmt.Errorf("%w: revisionName is required", errBody)
	}
	return s.namedRevision(r, *in.RepoName, *in.RevisionName)
}

// namedRevision refuses the empty name of a revision, which elsewhere means the
// default branch.
func (s *Server) namedRevision(r *http.Request, repository, revision string) (*code.Repository, error) {
	if revision == "" {
		return nil, fmt.Errorf("%w: it is empty; HEAD is the default branch", source.ErrInvalidRevision)
	}
	known, err := s.visibleRepository(r.Context(), repository)
	exchangeOf(r).note("ref", revision)
	return known, err
}

// treeNode is a node of a tree; no other member is allowed.
type treeNode struct {
	Type     source.Kind `json:"type"`
	Path     string      `json:"path"`
	Name     string      `json:"name"`
	Children []treeNode  `json:"children"`
}

type treeResponse struct {
	Tree treeNode `json:"tree"`
}

func (s *Server) tree(r *http.Request) (*reply, error) {
	var in revisionRequest
	repository, err := s.revisionOf(r, &in)
	if err != nil {
		return nil, err
	}
	if in.Paths == nil {
		return nil, fmt.Errorf("%w: paths is required; it may be empty", errBody)
	}
	if n := len(*in.Paths); n > source.MaxTreePaths {
		return nil, fmt.Errorf("%w: paths: want at most %d, have %d", errBody, source.MaxTreePaths, n)
	}
	root, err := s.o.Source.Tree(r.Context(), repository, *in.RevisionName, *in.Paths)
	if err != nil {
		return nil, err
	}
	return ok(treeResponse{newTreeNode(root)}), nil
}

func newTreeNode(n *source.Node) treeNode {
	out := treeNode{n.Kind, n.Path, n.Name, make([]treeNode, len(n.Children))}
	for i, child := range n.Children {
		out.Children[i] = newTreeNode(child)
	}
	return out
}

// fileItem is a file or, in a folder, another entry.
type fileItem struct {
	Type source.Kind `json:"type"`
	Path string      `json:"path"`
	Name string      `json:"name"`
}

func (s *Server) files(r *http.Request) (*reply, error) {
	var in revisionRequest
	repository, err := s.revisionOf(r, &in)
	if err != nil {
		return nil, err
	}
	paths, err := s.o.Source.Files(r.Context(), repository, *in.RevisionName)
	if err != nil {
		return nil, err
	}
	return ok(fileList(paths)), nil
}

// fileList writes paths as items: there may be half a million.
type fileList []string

// writeJSON implements streamer.
func (l fileList) writeJSON(out *jsonout.Writer) error {
	out.Raw("[")
	for i, path := range l {
		if i > 0 {
			out.Raw(",")
		}
		out.Raw(`{"type":"blob","path":`)
		out.String(path)
		out.Raw(`,"name":`)
		out.String(path[strings.LastIndexByte(path, '/')+1:])
		if out.Raw("}"); out.Err() != nil {
			return out.Err()
		}
	}
	out.Raw("]\n")
	return nil
}

func (s *Server) folderContents(r *http.Request) (*reply, error) {
	p := queryParams(r)
	name, revision, path := p.required("repoName", code.MaxNameBytes), p.required("revisionName", maxPathParameter), p.required("path", maxPathParameter)
	if p.err != nil {
		return nil, p.err
	}
	repository, err := s.namedRevision(r, name, revision)
	if err != nil {
		return nil, err
	}
	if path != "" {
		s.target(r, audit.TargetFile, name+":"+path)
	}
	entries, err := s.o.Source.Folder(r.Context(), repository, revision, path)
	if err != nil {
		return nil, err
	}
	prefix := strings.Trim(path, "/")
	if prefix != "" {
		prefix += "/"
	}
	items := make([]fileItem, len(entries))
	for i, e := range entries {
		items[i] = fileItem{e.Kind, prefix + e.Name, e.Name}
	}
	return ok(items), nil
}
