// Package answers measures whether a search shows the line that a programmer looks for.
//
// It answers: of tasks drawn from real sources, for how many is the right line among the
// first ten lines that an engine shows, and for how many is it the first?
//
//	Source   a tree of files that the engines have indexed under its name
//	Family   a kind of task; it draws tasks from the sources with a random generator
//	Task     the text to search for, and the lines that are right
//	Measure  gives all tasks to an engine; Report prints the figures of all engines
//	Call     a tool for AI agents; MeasureAgent gives the tasks to an agent that follows the suggestions of answers
//
// Only the rules are written manually: a new seed draws new tasks, so that an engine
// cannot be tuned to them. The traces of frame.go come from programs that are written
// with names drawn by the seed, and are run. The traces of languages that are not
// installed are generated from the documented format and counted separately.
//
// With checked-out repositories as sources, TagFamilies draws the most used types, qualified
// names and questions with universal-ctags, and HistoryFamilies draws the subjects of
// commits. Zoekt gets the query that suits it: Task.Peer.
//
// A misspelled or restyled name that occurs in the sources as a word is not a task,
// because it has its own answer.
//
// The lines that an engine shows are those of its files in order, up to LinesOfFile of
// each.
package answers
