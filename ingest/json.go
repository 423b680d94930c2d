package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DecodeJSON decodes a payload. It ignores a byte order mark and fields that into lacks,
// because hosts add fields. Its errors wrap ErrNotJSON or ErrInvalidPayload and name the
// field.
func DecodeJSON(payload []byte, into any) error {
	err := json.Unmarshal(trimByteOrderMark(payload), into)
	if err == nil {
		return nil
	}
	if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := "the payload"
		if typeErr.Field != "" {
			field = "field " + typeErr.Field
		}
		return fmt.Errorf("%w: %s may not be of type %s", ErrInvalidPayload, field, typeErr.Value)
	}
	if timeErr, ok := errors.AsType[*time.ParseError](err); ok {
		return fmt.Errorf("%w: %.40s is no RFC 3339 time", ErrInvalidPayload, timeErr.Value)
	}
	if syntaxErr, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: %w at byte %d", ErrNotJSON, err, syntaxErr.Offset)
	}
	return fmt.Errorf("%w: %w", ErrInvalidPayload, err)
}

// trimByteOrderMark removes the byte order mark that some senders prepend to UTF-8.
func trimByteOrderMark(payload []byte) []byte {
	return bytes.TrimPrefix(payload, []byte("\xef\xbb\xbf"))
}
