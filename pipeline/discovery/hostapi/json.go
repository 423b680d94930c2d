package hostapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// JSON is a client for hosts without a client library.
type JSON struct {
	Client *http.Client
	// Base precedes every path; Prefix is removed from each response.
	Base, Prefix string
}

// Get decodes the response for a path below Base into out.
func (j *JSON) Get(ctx context.Context, path string, query url.Values, out any) error {
	return j.Do(ctx, http.MethodGet, path, query, nil, out)
}

// Do sends a request with a JSON body, unless in is nil, and decodes the response into
// out, unless out is nil.
func (j *JSON) Do(ctx context.Context, method, path string, query url.Values, in, out any) error {
	address := j.Base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return j.DoURL(ctx, method, address, in, out)
}

// DoURL is Do for a URL that the host returned; it must be on the host of Base.
func (j *JSON) DoURL(ctx context.Context, method, address string, in, out any) error {
	if err := j.checkURL(address); err != nil {
		return err
	}
	body := []byte(nil)
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return newError(Rejected, 0, err.Error(), err)
	}
	r.Header.Set("Accept", "application/json")
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := j.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the body is in memory
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text.Bytes(), []byte(j.Prefix)), out); err != nil {
		return newError(HostFailed, resp.StatusCode, "the answer is not what the API documents: "+err.Error(), err)
	}
	return nil
}

func (j *JSON) checkURL(address string) error {
	base, err := url.Parse(j.Base)
	if err != nil {
		return newError(Rejected, 0, err.Error(), err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host != base.Host || u.Scheme != base.Scheme {
		return newError(Redirected, 0, fmt.Sprintf("the host names an address on another host: %.80q", address), err)
	}
	return nil
}
