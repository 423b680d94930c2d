package answers

// Families are those that only need sources.
func Families(sources Sources) []Family {
	return []Family{Pasted(sources), Messages(sources)}
}

// NameFamilies are those about names of symbols and files, and what is said of them.
func NameFamilies(sources Sources) []Family {
	words := newVocabulary(sources)
	return []Family{
		Misspelt(sources, words), Restyled(sources, words), Parts(sources), Hinted(sources), Described(sources), Abbreviated(sources), Classified(sources),
	}
}
