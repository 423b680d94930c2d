package answers

// Families returns the families that need only sources.
func Families(sources Sources) []Family {
	return []Family{Pasted(sources), Messages(sources)}
}

// NameFamilies returns the families about names of symbols and files, and about their
// descriptions.
func NameFamilies(sources Sources) []Family {
	words := newVocabulary(sources)
	return []Family{
		Misspelt(sources, words), Restyled(sources, words), Parts(sources), Hinted(sources), Described(sources), Abbreviated(sources), Classified(sources),
	}
}
