package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// maxReplyBytes bounds the reply of the collector that is read.
const maxReplyBytes = 64 << 10

// client sends spans as OTLP over HTTP. The module's own client needs gRPC, also for HTTP.
type client struct {
	url     string
	headers http.Header
	http    *http.Client
}

var _ otlptrace.Client = (*client)(nil)

func newClient(o *Options) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.MaxIdleConns, transport.MaxResponseHeaderBytes = o.TLS, 1, maxReplyBytes
	return &client{url: o.URL, headers: o.Headers, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the headers may be secret
	}}
}

// refusedError is a reply other than that all spans are accepted.
type refusedError struct {
	text      string
	spans     int  // not accepted
	temporary bool // they may be sent again
}

// Error implements error.
func (e *refusedError) Error() string { return e.text }

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client.
func (c *client) UploadTraces(ctx context.Context, spans []*pb.ResourceSpans) error {
	// TracesData has the encoding of ExportTraceServiceRequest, whose package imports gRPC.
	text, err := proto.Marshal(&pb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, _ = z.Write(text) // a buffer never fails
	_ = z.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, &body)
	if err != nil {
		return err
	}
	maps.Copy(r.Header, c.headers)
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it is read
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReplyBytes))
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted:
		if rejected, text := readPartialSuccess(reply); rejected > 0 {
			return &refusedError{text: fmt.Sprintf("the collector rejects %d spans: %.200q", rejected, text), spans: rejected}
		}
		return err
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &refusedError{text: "the collector answers " + response.Status, temporary: true}
	}
	return &refusedError{text: fmt.Sprintf("the collector answers %s: %.200q", response.Status, strings.ToValidUTF8(string(reply), "?")), spans: countSpans(spans)}
}

func countSpans(resources []*pb.ResourceSpans) (n int) {
	for _, r := range resources {
		for _, s := range r.ScopeSpans {
			n += len(s.Spans)
		}
	}
	return n
}

// readPartialSuccess returns the number of rejected spans of an ExportTraceServiceResponse, and
// the reason:
//
//	1 partial_success: 1 rejected_spans, 2 error_message
func readPartialSuccess(reply []byte) (rejected int, text string) {
	for _, f := range readFields(reply) {
		if f.number != 1 {
			continue
		}
		for _, g := range readFields(f.bytes) {
			switch g.number {
			case 1:
				rejected = int(min(g.varint, maxQueued))
			case 2:
				text = string(g.bytes)
			}
		}
	}
	return rejected, text
}

// field is a field of a message of protocol buffers.
type field struct {
	number protowire.Number
	varint uint64
	bytes  []byte
}

// readFields returns the numbers and the bytes of a message, up to a field that is neither or
// damaged.
func readFields(message []byte) (fields []field) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fields
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			return fields
		}
		if n < 0 {
			return fields
		}
		message = message[n:]
		fields = append(fields, f)
	}
	return fields
}
