package outline

var graphql = table{
	languages: "GraphQL",
	lexicon: lexicon{
		soft:     "directive enum extend false fragment implements input interface mutation null on query repeatable scalar schema subscription true type union",
		comments: []comment{hash},
		strings:  []quote{{open: `"""`, close: `"""`, escape: '\\', multiline: true}, doubleQuoted},
	},
	newlines: true, trailing: ":=|&@", separators: ",", continues: "implements | & =",
	rules: []rule{
		{match: "^ extend? type @", kind: "type", body: bodyEnter, in: "file"},
		{match: "^ extend? interface @", kind: "interface", in: "file"},
		{match: "^ extend? input @", kind: "input", body: bodyEnter, in: "file"},
		{match: "^ extend? enum @", kind: "enum", in: "file"},
		{match: "^ extend? union @", kind: "union", body: bodyNone, in: "file"},
		{match: "^ extend? scalar @", kind: "scalar", body: bodyNone, in: "file"},
		{match: `^ directive \@ @`, kind: "directive", body: bodyNone, in: "file"},
		{match: "^ query @", kind: "query", in: "file", body: bodySkip},
		{match: "^ mutation @", kind: "mutation", in: "file", body: bodySkip},
		{match: "^ subscription @", kind: "subscription", in: "file", body: bodySkip},
		{match: "^ fragment @ on", kind: "fragment", in: "file", body: bodySkip},
		{match: "^ @ ()? :", kind: "field", in: "type interface input"},
		{match: "^ @", kind: "enumerator", in: "enum"},
	},
}
