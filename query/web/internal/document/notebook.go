package document

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"strings"

	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
)

// Bounds of a notebook.
const (
	MaxNotebookBytes = 8 << 20
	maxCells         = 2000
	maxOutputBytes   = 20 << 10 // of one cell
	maxImages        = 200      // of a notebook
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
	if len(b) > 0 && b[0] == '[' {
		var lines []string
		err := json.Unmarshal(b, &lines)
		*m = multiline(strings.Join(lines, ""))
		return err
	}
	var text string
	err := json.Unmarshal(b, &text)
	*m = multiline(text)
	return err
}

type notebook struct {
	Format   int `json:"nbformat"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Cells []struct {
		Kind    string    `json:"cell_type"`
		Source  multiline `json:"source"`
		Number  *int      `json:"execution_count"`
		Outputs []output  `json:"outputs"`
	} `json:"cells"`
}

type output struct {
	Text  multiline                  `json:"text"`
	Data  map[string]json.RawMessage `json:"data"`
	Name  string                     `json:"ename"`
	Value string                     `json:"evalue"`
}

// RenderNotebook renders the cells of a Jupyter notebook of format 4, and reports whether
// these are all.
func RenderNotebook(text []byte, o Options) (cells []Cell, whole bool, err error) {
	if len(text) > MaxNotebookBytes {
		return nil, false, ErrTooLarge
	}
	var n notebook
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrNotebook, err)
	}
	if n.Format < 4 || n.Cells == nil {
		return nil, false, ErrNotebook
	}
	language, images, b := languageOf(n.Metadata.Language.Name), 0, &budget{}
	for i, c := range n.Cells {
		if i == maxCells {
			return cells, false, nil
		}
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
			case o.hasImage():
				out.Hidden++
			}
		}
		cells = append(cells, out)
	}
	return cells, true, nil
}

// imageTypes are the types of images in outputs that are shown: browsers decode them
// without running anything.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// findImage returns the image of an output if it can be shown, and its type.
func (o *output) findImage() (kind string, encoded multiline, ok bool) {
	for _, kind := range imageTypes {
		if data, ok := o.Data[kind]; ok && json.Unmarshal(data, &encoded) == nil {
			return kind, encoded, true
		}
	}
	return "", "", false
}

// hasImage reports whether an output is an image of any type.
func (o *output) hasImage() bool {
	for kind := range o.Data {
		if strings.HasPrefix(kind, "image/") {
			return true
		}
	}
	return false
}

// NotebookImage returns an image of a notebook by its number, from 1, and its type, which
// is one that browsers only decode. The error wraps ErrNotebook if there is none.
func NotebookImage(text []byte, number int) (body []byte, kind string, err error) {
	if len(text) > MaxNotebookBytes || number < 1 || number > maxImages {
		return nil, "", ErrNotebook
	}
	var n notebook
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrNotebook, err)
	}
	for _, c := range n.Cells[:min(len(n.Cells), maxCells)] {
		for _, o := range c.Outputs {
			kind, encoded, ok := o.findImage()
			if !ok {
				continue
			}
			if number--; number > 0 {
				continue
			}
			body, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(encoded)), ""))
			if err != nil {
				return nil, "", fmt.Errorf("%w: image: %w", ErrNotebook, err)
			}
			return body, kind, nil
		}
	}
	return nil, "", ErrNotebook
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
		if !o.hasImage() && json.Unmarshal(o.Data["text/plain"], &plain) == nil {
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
