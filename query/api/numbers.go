package api

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Only this file converts between IDs and the numbers that the API shows.

// Numbers maps IDs to the numbers that the API shows. Numbers are permanent, and every
// repository that Catalog lists or a View shows has one.
type Numbers interface {
	// OfRepository returns the number of a repository, or 0 if it has none.
	OfRepository(id code.RepositoryID) code.RepositoryNumber
	// Repository returns the repository with that number, registered or not, or 0 if
	// there is none.
	Repository(number code.RepositoryNumber) code.RepositoryID
	// OfConnection returns the number of a connection, or 0 if it has none.
	OfConnection(name string) code.ConnectionNumber
}

// numberOf returns the number of a repository. It is 0, and omitted, only for
// repositories that were removed before numbers were introduced.
func (s *Server) numberOf(id code.RepositoryID) code.RepositoryNumber {
	return s.o.Numbers.OfRepository(id)
}

// numbersOf returns the numbers of repositories, and nil for nil: a missing restriction
// is not the same as an empty one.
func (s *Server) numbersOf(ids []code.RepositoryID) []code.RepositoryNumber {
	if ids == nil {
		return nil
	}
	out := make([]code.RepositoryNumber, 0, len(ids))
	for _, id := range ids {
		if number := s.numberOf(id); number != 0 {
			out = append(out, number)
		}
	}
	return out
}

// RepositoryWith returns the repository that a caller identifies by its number, or by the
// ID that servers showed before there were numbers: IDs begin where numbers end, except
// for one in 2^28. It is 0 for a number that no repository has.
func RepositoryWith(n Numbers, number uint64) code.RepositoryID {
	if number <= code.MaxNumber {
		return n.Repository(code.RepositoryNumber(number))
	}
	return code.RepositoryID(number)
}

func (s *Server) repositoryWith(number uint64) code.RepositoryID {
	return RepositoryWith(s.o.Numbers, number)
}

// repositoriesWith is RepositoryWith for a field of a body.
func (s *Server) repositoriesWith(field string, numbers []float64) ([]code.RepositoryID, error) {
	var out []code.RepositoryID
	for _, n := range numbers {
		if n < 1 || n > 1<<53 || n != float64(uint64(n)) {
			return nil, fmt.Errorf("%w: %s: want positive whole numbers, have %v", errBody, field, n)
		}
		out = append(out, s.repositoryWith(uint64(n)))
	}
	return out, nil
}

// repositoryNumber reads {repoId} from the path for RepositoryWith.
func repositoryNumber(r *http.Request) (uint64, error) {
	text := mux.Vars(r)["repoId"]
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || number == 0 {
		return 0, fmt.Errorf("%w: repoId: want a positive whole number, have %.40q", errPathParams, text)
	}
	return number, nil
}

// isConnection reports whether this number, or an ID that servers showed before there
// were numbers, identifies the connection of that name.
func (s *Server) isConnection(name string, number uint64) bool {
	if number <= code.MaxNumber {
		return uint64(s.o.Numbers.OfConnection(name)) == number
	}
	return uint64(code.NewRepositoryID("connection", name)) == number
}
