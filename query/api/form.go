package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/api/internal/contract"
)

// requestForm is a request checked against the document.
type requestForm struct {
	operation *contract.Operation
	values    url.Values // of the query
}

// pathOfUser is the one operation whose missing parameter has an error code of its
// own in the established interface.
const pathOfUser = "/api/ee/user"

// checkParameters checks the path and the query of a request by the document; decodeBody
// does the body.
func (s *Server) checkParameters(rt *route, r *http.Request) error {
	f := &exchangeOf(r).form
	f.operation = s.contract.Operation(rt.method, rt.path)
	vars := mux.Vars(r)
	if err := f.operation.Path(func(name string) string { return vars[name] }); err != nil {
		return fmt.Errorf("%w: %w", errPathParams, err)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fmt.Errorf("%w: %w", errParams, err)
	}
	f.values = values
	err = f.operation.Query(values)
	if fault, ok := errors.AsType[*contract.Fault](err); ok && fault.Have == "" && rt.path == pathOfUser {
		return fmt.Errorf("%w: %w", errMissingParam, err)
	} else if err != nil {
		return fmt.Errorf("%w: %w", errParams, err)
	}
	return nil
}
