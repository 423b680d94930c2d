package ctags

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrUnusable means that the program is not a suitable ctags.
var ErrUnusable = errors.New("unusable ctags")

// neededFeatures are the features with which the program must be built.
var neededFeatures = []string{"interactive", "sandbox", "json"}

// examineProgram checks the program and returns its languages and kinds.
func examineProgram(ctx context.Context, program string) (languageSet, kindSet, error) {
	const remedy = "give the absolute path of a universal-ctags that is built with libseccomp and libjansson, as the package universal-ctags of Debian is, or leave the setting empty"
	if !filepath.IsAbs(program) {
		return nil, nil, fmt.Errorf("%w: %q is not an absolute path: %s", ErrUnusable, program, remedy)
	}
	features, err := listWords(ctx, program, "--list-features", 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w: %s", ErrUnusable, err, remedy)
	}
	for _, feature := range neededFeatures {
		if !slices.Contains(features, feature) {
			return nil, nil, fmt.Errorf("%w: %s is built without %q: %s", ErrUnusable, program, feature, remedy)
		}
	}
	names, err := listWords(ctx, program, "--list-languages", 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w: %s", ErrUnusable, err, remedy)
	}
	kinds, err := listWords(ctx, program, "--list-kinds-full", 2)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w: %s", ErrUnusable, err, remedy)
	}
	languages := languageSet{}
	for language, name := range ctagsNames {
		if slices.Contains(names, name) {
			languages[language] = name
		}
	}
	return languages, newKindSet(kinds), nil
}

// listWords returns one column of the table that the program prints for argument, without
// disabled entries.
func listWords(ctx context.Context, program, argument string, column int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--options=NONE", argument)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", program, argument, err)
	}
	var words []string
	for line := range bytes.Lines(out) {
		if fields := strings.Fields(string(line)); len(fields) > column && !slices.Contains(fields, "[disabled]") {
			words = append(words, fields[column])
		}
	}
	return words, nil
}

// languageSet maps each language that the program reads to its ctags name.
type languageSet map[code.Language]string

// mapArguments returns arguments that map a unique file extension to each language, so that
// neither the name nor the content of a file selects the parser.
func (l languageSet) mapArguments() []string {
	arguments := make([]string, 0, len(l))
	for _, name := range l {
		arguments = append(arguments, "--map-"+name+"=+."+makeExtension(name))
	}
	slices.Sort(arguments)
	return arguments
}

func makeExtension(ctagsName string) string { return "quarry" + strings.ToLower(ctagsName) }

// fileName returns the made-up file name that selects the parser.
func fileName(ctagsName string) string { return "text." + makeExtension(ctagsName) }
