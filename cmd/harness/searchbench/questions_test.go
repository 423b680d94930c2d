package main

import (
	"context"
	"testing"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/answers"
)

// TestQuestionsHaveAnswers checks that the everyday questions have answers in their
// sources: the packages that this module needs, and Python's library if it is installed.
func TestQuestionsHaveAnswers(t *testing.T) {
	data, err := testdata.ReadFile("testdata/questions.json")
	if err != nil {
		t.Fatal(err)
	}
	questions, err := answers.ParseQuestions(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(questions) != 25 {
		t.Errorf("%d questions", len(questions))
	}
	sources, err := answers.InstalledSources(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*answers.Source{}
	for _, s := range sources {
		byName[s.Name] = s
	}
	for _, q := range questions {
		source := byName[q.Repository]
		if q.Repository == "" || source == nil {
			continue // the answer may be anywhere, or its source is not installed
		}
		found := false
		for _, file := range source.Files {
			if q.Path == file || q.Path == "" {
				for i, text := range source.Lines(file) {
					found = found || q.Right(answers.Line{Repository: source.Name, Path: file, Number: i + 1, Text: text})
				}
			}
			if found {
				break
			}
		}
		if !found {
			t.Errorf("%s (%s) has no right line in %s", q.Ask, q.About, q.Repository)
		}
	}
}
