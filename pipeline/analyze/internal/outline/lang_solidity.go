package outline

var solidity = table{
	languages: "Solidity",
	lexicon: lexicon{
		letters:  "$",
		keywords: "abstract address anonymous as assembly bool break bytes bytes32 calldata catch constant constructor continue contract delete do else emit enum event external fallback false final for function if immutable import indexed interface internal is library mapping memory modifier new override payable pragma private public pure return returns storage string struct throw true try type uint uint256 int int256 unchecked using view virtual while",
		soft:     "error from receive revert",
		comments: []comment{slashSlash, slashStar},
		strings:  []quote{doubleQuoted, singleQuoted},
	},
	rules: []rule{
		{match: "interface @", kind: "interface"},
		{match: "library @", kind: "library"},
		{match: "contract @", kind: "contract"},
		{match: "struct @", kind: "struct"},
		{match: "enum @", kind: "enum", body: bodyItems, items: "enumerator"},
		{match: "@=constructor|receive|fallback ()", kind: "function", in: "type"},
		{match: "function @", kind: "function"},
		{match: "modifier @", kind: "modifier"},
		{match: "event @", kind: "event"},
		{match: "error @ ()", kind: "error"},
		{match: "type @ is", kind: "typedef"},
		{match: "^ for", body: bodyNone}, // using {f} for T global;
		{match: "using|pragma|import", body: bodyNone},
		{match: "^ mapping () ... @ =", kind: "field", in: "type library"},
	},
	variables: "variable",
}
