package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Page is a page of a list.
type Page[T any] struct {
	Items []T
	// Total is the number of elements on all pages.
	Total int
	// next is the path of the next page; empty for the last page.
	next string
}

// Last reports whether p is the last page.
func (p *Page[T]) Last() bool { return p.next == "" }

// receivePage receives one page.
func receivePage[T any](ctx context.Context, c *Client, r request) (*Page[T], error) {
	items, header, err := receiveHeader[[]T](ctx, c, r)
	if err != nil {
		return nil, err
	}
	out := &Page[T]{Items: items}
	out.Total, _ = strconv.Atoi(header.Get("X-Total-Count")) // 0 if the server does not count
	out.next, err = c.nextPath(header)
	return out, err
}

// receivePages iterates over the elements of a page and of the following ones.
func receivePages[T any](ctx context.Context, c *Client, r request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			p, err := receivePage[T](ctx, c, r)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Last() || len(p.Items) == 0 {
				return
			}
			r.path, r.query = p.next, nil
		}
	}
}

// nextPath returns the target of rel="next" in the Link header (RFC 8288), as a path of
// the server.
func (c *Client) nextPath(h http.Header) (string, error) {
	for link := range strings.SplitSeq(h.Get("Link"), ",") {
		target, parameters, ok := strings.Cut(link, ">")
		if !ok || !strings.Contains(parameters, `rel="next"`) {
			continue
		}
		_, target, _ = strings.Cut(target, "<")
		u, err := c.base.Parse(target)
		if err != nil {
			return "", fmt.Errorf("link %q: %w", target, err)
		}
		if err := c.sameOrigin(u); err != nil {
			return "", err
		}
		// A server below a path has it in its links, and base has it as well.
		next := u.RequestURI()
		if below, ok := strings.CutPrefix(next, c.base.EscapedPath()+"/"); ok {
			next = "/" + below
		}
		return next, nil
	}
	return "", nil
}

// setParam sets a parameter unless it has its zero value.
func setParam[T comparable](v url.Values, name string, value T) {
	var zero T
	if value != zero {
		setRequired(v, name, value)
	}
}

// setRequired sets a parameter.
func setRequired[T any](v url.Values, name string, value T) { v.Set(name, formatValue(value)) }

// escape returns a value escaped as an element of a path.
func escape[T any](value T) string { return url.PathEscape(formatValue(value)) }

// formatValue returns a value as written in a URL.
func formatValue(value any) string {
	if t, ok := value.(interface{ Spell() string }); ok {
		return t.Spell()
	}
	return fmt.Sprint(value)
}
