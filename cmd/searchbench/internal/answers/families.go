package answers

// Families are the families whose tasks are drawn from sources alone.
func Families(sources Sources) []Family {
	return []Family{Pasted(sources), Messages(sources)}
}
