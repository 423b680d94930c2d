package api

import (
	"bytes"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
)

// body writes itself.
type body func(out *jsonout.Writer) error

func (b body) writeJSON(out *jsonout.Writer) error { return b(out) }

func TestBodyThatFitsHasALength(t *testing.T) {
	for _, size := range []int{1, 1000, jsonout.PieceBytes + 1, 3 * jsonout.PieceBytes} {
		text := bytes.Repeat([]byte("x"), size)
		w := httptest.NewRecorder()
		p := &reply{status: 207, body: body(func(out *jsonout.Writer) error {
			out.Text(text)
			return nil
		})}
		if err := p.Write(w); err != nil || w.Code != 207 || w.Body.Len() != size+2 {
			t.Fatalf("%d bytes: status %d, %d bytes, %v", size, w.Code, w.Body.Len(), err)
		}
		want := ""
		if size < jsonout.PieceBytes {
			want = strconv.Itoa(size + 2)
		}
		if got := w.Header().Get("Content-Length"); got != want {
			t.Errorf("%d bytes: length %q, want %q", size, got, want)
		}
	}
}

// TestBodyThatFailsSendsNoStatus checks that a body that cannot be encoded, a bug of
// ours, panics before its status is sent, so that an error can be sent.
func TestBodyThatFailsSendsNoStatus(t *testing.T) {
	w := httptest.NewRecorder()
	w.Code = 0
	defer func() {
		if recover() == nil || w.Code != 0 || w.Body.Len() != 0 {
			t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
		}
	}()
	_ = okReply(body(func(out *jsonout.Writer) error { return out.Members(func() {}) })).Write(w)
}
