package outline

var objectiveC = table{
	languages: "Objective-C, Objective-C++",
	lexicon: lexicon{
		directives: true,
		keywords:   "break case char const continue default do double else enum extern float for goto if inline int long register return short signed sizeof static struct switch typedef union unsigned void volatile while",
		soft:       "BOOL NO YES autoreleasepool catch class dynamic encode end finally id implementation import instancetype interface nil nonatomic nullable optional package private property protected protocol public readonly required selector self strong super synchronized synthesize throw try weak",
		comments:   []comment{slashSlash, slashStar},
		strings:    []quote{doubleQuoted, singleQuoted},
	},
	starts: "@-+", terminators: "end",
	rules: []rule{
		{match: `^ \@ end`, level: 1, body: bodyNone},
		{match: `^ \@ interface @ ()`, kind: "category", level: 1, body: bodySection},
		{match: `^ \@ interface @`, kind: "interface", level: 1, body: bodySection},
		{match: `^ \@ implementation @`, kind: "implementation", level: 1, body: bodySection},
		{match: `^ \@ protocol @ ,`, body: bodyPlain},
		{match: `^ \@ protocol @ $;`, body: bodyPlain},
		{match: `^ \@ protocol @`, kind: "protocol", level: 1, body: bodySection},
		{match: `^ \@ property ... @ $`, kind: "property"},
		{match: "^ - ()? @", kind: "method", in: "type", body: bodySkip},
		{match: "^ + ()? @", kind: "method", in: "type", body: bodySkip},
		{match: "^ typedef NS_ENUM|NS_OPTIONS|NS_CLOSED_ENUM|NS_ERROR_ENUM (@) {", kind: "enum", body: bodyItems, items: "enumerator"},
		{match: "^ typedef enum @ {", kind: "enum", body: bodyItems, items: "enumerator"},
		{match: "^ typedef? struct @ {", kind: "struct", body: bodySkip},
		{match: "^ typedef? enum @ : . {", kind: "enum", body: bodyItems, items: "enumerator"},
		{match: "^ enum @ {", kind: "enum", body: bodyItems, items: "enumerator"},
		{match: "^ extern .  {", body: bodyEnter},
		{match: "^ typedef ... @ $", kind: "typedef"},
	},
	functions: "function",
}
