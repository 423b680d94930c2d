package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/api/internal/contract"
)

// requestForm is a request that was checked against the document.
type requestForm struct {
	operation *contract.Operation
	values    url.Values // of the query string
}

// pathOfUser is the one operation whose missing parameter has a separate error code in
// the established interface.
const pathOfUser = "/api/ee/user"

// formKey is the key of the requestForm in a request's context.
type formKey struct{}

// formOf returns the form of a request that passed through checkParameters.
func formOf(r *http.Request) *requestForm { return r.Context().Value(formKey{}).(*requestForm) }

// checkParameters checks the path and the query of a request against the document;
// decodeBody checks the body. It returns the request with the form in its context.
func (s *Server) checkParameters(rt *route, r *http.Request) (*http.Request, error) {
	f := &requestForm{operation: s.contract.Operation(rt.Method, rt.Path)}
	vars := mux.Vars(r)
	if err := f.operation.Path(func(name string) string { return vars[name] }); err != nil {
		return nil, fmt.Errorf("%w: %w", errPathParams, err)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errParams, err)
	}
	f.values = values
	err = f.operation.Query(values)
	if fault, ok := errors.AsType[*contract.Fault](err); ok && fault.Have == "" && rt.Path == pathOfUser {
		return nil, fmt.Errorf("%w: %w", errMissingParam, err)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", errParams, err)
	}
	return r.WithContext(context.WithValue(r.Context(), formKey{}, f)), nil
}
