package document

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
)

// Bounds of a notebook.
const (
	MaxNotebookBytes = 8 << 20
	maxCells         = 2000
	maxOutputs       = 1000     // of one cell
	maxOutputBytes   = 20 << 10 // of one cell
	maxImages        = 200      // of a notebook
	maxCellMarkup    = 16 << 20 // of all cells: a tag around each word makes code many times longer
)

// ErrNotebook reports a file that is not a notebook of the known format.
var ErrNotebook = errors.New("not a notebook")

// Cell is a cell of a notebook, rendered.
type Cell struct {
	Kind   string // "markdown", "code" or "raw"
	Number string // of the execution; empty if it was not run
	Input  template.HTML
	Output template.HTML // text only
	Images []int         // numbers of the outputs for NotebookImage
	Hidden int           // number of images that are not shown
}

// multiline is a text that may be encoded as a list of lines.
type multiline string

// UnmarshalJSON implements json.Unmarshaler.
func (m *multiline) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, (*string)(m))
	}
	var text strings.Builder
	var line string
	err := eachElement(b, func(d *json.Decoder) (bool, error) {
		line = ""
		err := d.Decode(&line)
		text.WriteString(line)
		return true, err
	})
	*m = multiline(text.String())
	return err
}

// eachElement calls f for each element of a list of JSON, which f decodes, while f returns true.
// A list of empty elements would take a hundred times its length if it were decoded at once.
func eachElement(list []byte, f func(d *json.Decoder) (bool, error)) error {
	d := json.NewDecoder(bytes.NewReader(list))
	if first, err := d.Token(); err != nil || first != json.Delim('[') {
		return cmp.Or(err, errors.New("want a list"))
	}
	for d.More() {
		if more, err := f(d); err != nil || !more {
			return err
		}
	}
	return nil
}

type notebook struct {
	Format   int `json:"nbformat"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Cells json.RawMessage `json:"cells"`
}

func decodeNotebook(text []byte) (*notebook, error) {
	if len(text) > MaxNotebookBytes {
		return nil, ErrTooLarge
	}
	n := &notebook{}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotebook, err)
	}
	if n.Format < 4 || len(n.Cells) == 0 || n.Cells[0] != '[' {
		return nil, ErrNotebook
	}
	return n, nil
}

type cell struct {
	Kind    string    `json:"cell_type"`
	Source  multiline `json:"source"`
	Number  *int      `json:"execution_count"`
	Outputs outputs   `json:"outputs"`
}

// eachCell calls f for each of the first maxCells cells while f returns true, and reports whether
// these are all.
func (n *notebook) eachCell(f func(*cell) bool) (whole bool, err error) {
	count, whole := 0, true
	err = eachElement(n.Cells, func(d *json.Decoder) (bool, error) {
		c := &cell{}
		if count++; count > maxCells {
			whole = false
			return false, nil
		}
		err := d.Decode(c)
		whole = err == nil && f(c)
		return whole, err
	})
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNotebook, err)
	}
	return whole, nil
}

// outputs are the first maxOutputs of a cell.
type outputs []output

// UnmarshalJSON implements json.Unmarshaler.
func (o *outputs) UnmarshalJSON(b []byte) error {
	if *o = nil; string(b) == "null" {
		return nil
	}
	return eachElement(b, func(d *json.Decoder) (bool, error) {
		var next output
		err := d.Decode(&next)
		*o = append(*o, next)
		return len(*o) < maxOutputs, err
	})
}

type output struct {
	Text  multiline `json:"text"`
	Data  bundle    `json:"data"`
	Name  string    `json:"ename"`
	Value string    `json:"evalue"`
}

// bundle is one output in several types, of which only those that are shown are kept.
type bundle struct {
	shown    map[string]json.RawMessage
	hasImage bool // of any type
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *bundle) UnmarshalJSON(b []byte) error {
	*u = bundle{shown: make(map[string]json.RawMessage)}
	d := json.NewDecoder(bytes.NewReader(b))
	if first, err := d.Token(); err != nil || first == nil {
		return err
	} else if first != json.Delim('{') {
		return errors.New("want an object")
	}
	var data json.RawMessage
	for d.More() {
		kind, err := d.Token()
		if err == nil {
			err = d.Decode(&data)
		}
		if err != nil {
			return err
		}
		name, _ := kind.(string)
		u.hasImage = u.hasImage || strings.HasPrefix(name, "image/")
		if name == plainType || slices.Contains(imageTypes, name) {
			u.shown[name] = bytes.Clone(data)
		}
	}
	return nil
}

// RenderNotebook renders the cells of a Jupyter notebook of format 4, and reports whether
// these are all.
func RenderNotebook(text []byte, o Options) (cells []Cell, whole bool, err error) {
	n, err := decodeNotebook(text)
	if err != nil {
		return nil, false, err
	}
	language, images, markup, b := languageOf(n.Metadata.Language.Name), 0, 0, &budget{}
	whole, err = n.eachCell(func(c *cell) bool {
		out := Cell{Kind: c.Kind}
		if c.Number != nil {
			out.Number = fmt.Sprint(*c.Number)
		}
		switch c.Kind {
		case "markdown":
			if out.Input, err = o.renderMarkdown([]byte(c.Source), b); err != nil {
				out.Input = template.HTML(o.renderCode("", []byte(c.Source)))
			}
		case "code":
			out.Input = template.HTML(o.renderCode(language, []byte(c.Source)))
		default:
			out.Kind, out.Input = "raw", template.HTML(o.renderCode("", []byte(c.Source)))
		}
		out.Output = renderOutputs(c.Outputs)
		for _, o := range c.Outputs {
			switch _, _, ok := o.findImage(); {
			case ok && images < maxImages:
				images++
				out.Images = append(out.Images, images)
			case o.Data.hasImage:
				out.Hidden++
			}
		}
		if markup += len(out.Input) + len(out.Output); markup > maxCellMarkup {
			return false
		}
		cells = append(cells, out)
		return true
	})
	if err != nil {
		return nil, false, err
	}
	return cells, whole, nil
}

const plainType = "text/plain"

// imageTypes are the types of images in outputs that are shown: browsers decode them
// without running anything.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// findImage returns the image of an output if it can be shown, and its type.
func (o *output) findImage() (kind string, encoded multiline, ok bool) {
	for _, kind := range imageTypes {
		if data, ok := o.Data.shown[kind]; ok && json.Unmarshal(data, &encoded) == nil {
			return kind, encoded, true
		}
	}
	return "", "", false
}

// NotebookImage returns an image of a notebook by its number, from 1, and its type, which
// is one that browsers only decode. The error wraps ErrNotebook if there is none.
func NotebookImage(text []byte, number int) (body []byte, kind string, err error) {
	if number < 1 || number > maxImages {
		return nil, "", ErrNotebook
	}
	n, err := decodeNotebook(text)
	if err != nil {
		return nil, "", err
	}
	var image multiline
	_, err = n.eachCell(func(c *cell) bool {
		for _, o := range c.Outputs {
			found, encoded, ok := o.findImage()
			if !ok {
				continue
			}
			if number--; number == 0 {
				kind, image = found, encoded
				return false
			}
		}
		return true
	})
	if err != nil {
		return nil, "", err
	}
	if number > 0 {
		return nil, "", ErrNotebook
	}
	if body, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(image)), "")); err != nil {
		return nil, "", fmt.Errorf("%w: image: %w", ErrNotebook, err)
	}
	return body, kind, nil
}

// renderOutputs renders the text of outputs; of images only their description.
func renderOutputs(outputs []output) template.HTML {
	var text bytes.Buffer
	for _, o := range outputs {
		text.WriteString(string(o.Text))
		if o.Name != "" {
			fmt.Fprintf(&text, "%s: %s\n", o.Name, o.Value)
		}
		var plain multiline
		if !o.Data.hasImage && json.Unmarshal(o.Data.shown[plainType], &plain) == nil {
			text.WriteString(string(plain) + "\n")
		}
	}
	if text.Len() == 0 {
		return ""
	}
	shown := text.Bytes()
	if len(shown) > maxOutputBytes {
		shown = append(shown[:maxOutputBytes:maxOutputBytes], "\n…"...)
	}
	return template.HTML(codehtml.AppendText(nil, shown))
}
