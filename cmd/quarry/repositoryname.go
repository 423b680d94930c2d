package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

var errNoRepository = errors.New("no such repository")

const (
	// maxNearRepositories bounds the names that the error about an unknown repository
	// suggests.
	maxNearRepositories = 5
	// maxComparedRepositories bounds the names that are compared with an unknown one.
	maxComparedRepositories = 10_000
)

// findRepository returns the repository with a full name. A name without its beginning,
// such as kettle for acme/kettle, is enough if only one repository ends in it after a
// slash.
func findRepository(ctx context.Context, server *client.Client, name string) (*wire.Repository, error) {
	var ending []wire.Repository
	for r, err := range server.ListRepositoriesAll(ctx, client.ListRepositoriesParams{Query: name, PerPage: 100}) {
		if err != nil {
			return nil, err
		}
		if r.RepoName == name {
			return &r, nil
		}
		if strings.HasSuffix(strings.ToLower(r.RepoName), "/"+strings.ToLower(name)) || strings.EqualFold(r.RepoName, name) {
			ending = append(ending, r)
		}
	}
	if len(ending) == 1 {
		return &ending[0], nil
	}
	names := make([]string, len(ending))
	for i := range ending {
		names[i] = ending[i].RepoName
	}
	if len(names) == 0 {
		names = nearRepositories(ctx, server, name)
	}
	return nil, unknownRepository(name, names)
}

// unknownRepository returns the error about a name that no repository has, or several
// have.
func unknownRepository(name string, near []string) error {
	if len(near) == 0 {
		return fmt.Errorf("%w: %s; quarry repos list prints the names", errNoRepository, escapeCell(name))
	}
	slices.Sort(near)
	shown := make([]string, min(len(near), maxNearRepositories))
	for i := range shown {
		shown[i] = escapeCell(near[i])
	}
	return fmt.Errorf("%w: %s; did you mean %s?", errNoRepository, escapeCell(name), strings.Join(shown, " or "))
}

// nearRepositories returns the names of repositories that are near to a name.
func nearRepositories(ctx context.Context, server *client.Client, name string) []string {
	return spelling.Nearest(name, func(yield func(string) bool) {
		count := 0
		for r, err := range server.ListRepositoriesAll(ctx, client.ListRepositoriesParams{PerPage: 100}) {
			if count++; err != nil || count > maxComparedRepositories || !yield(r.RepoName) {
				return
			}
		}
	}, maxNearRepositories)
}

// findName returns the full name of a repository, or an empty string for an empty name.
func findName(ctx context.Context, server *client.Client, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	r, err := findRepository(ctx, server, name)
	if err != nil {
		return "", err
	}
	return r.RepoName, nil
}

// findNameOrID is findName for commands that also accept the ID of a repository.
func findNameOrID(ctx context.Context, server *client.Client, name string) (string, error) {
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		return name, nil
	}
	return findName(ctx, server, name)
}

// repositoryID returns the ID of a repository by its name.
func repositoryID(ctx context.Context, server *client.Client, name string) (int64, error) {
	r, err := findRepository(ctx, server, name)
	if err != nil {
		return 0, err
	}
	return int64(r.RepoID), nil
}

// repositoryIDs returns the IDs of repositories by their names or IDs.
func repositoryIDs(ctx context.Context, server *client.Client, names []string) ([]int64, error) {
	var ids []int64
	for _, name := range names {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			id, err = repositoryID(ctx, server, name)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
