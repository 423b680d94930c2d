package outline

var makefile = table{
	languages: "Makefile",
	lexicon: lexicon{
		letters:  "-./%~@",
		soft:     "define else endef endif export ifdef ifeq ifndef ifneq include override private undefine unexport vpath",
		comments: []comment{{open: "#", apart: true}},
	},
	blocks: blockNone, newlines: true, trailing: `\`, flat: "([{", separators: ";",
	rules: []rule{
		{match: "^ override|export|private? define @", kind: "variable", until: "endef"},
		{match: "^ override|export|private? @ =", kind: "variable"},
		{match: "^ override|export|private? @ : =", kind: "variable"},
		{match: "^ override|export|private? @ : : =", kind: "variable"},
		{match: "^ override|export|private? @ : : : =", kind: "variable"},
		{match: "^ override|export|private? @ ! =", kind: "variable"},
		{match: "^ override|export|private? @ ? =", kind: "variable"},
		{match: "^ override|export|private? @ + =", kind: "variable"},
		{match: "^ @+ &? :", kind: "target", column: 1},
	},
}

var cmake = table{
	languages: "CMake",
	lexicon: lexicon{
		letters: "-.+/:", fold: true,
		soft:     "add_custom_target add_executable add_library cmake_dependent_option else elseif endforeach endfunction endif endmacro endwhile foreach function if include macro option project return set target_link_libraries while find_package",
		comments: []comment{{open: "#[[", close: "]]"}, {open: "#[=[", close: "]=]"}, {open: "#[==[", close: "]==]"}, hash},
		strings: []quote{
			longDouble,
			{open: "[[", close: "]]", multiline: true, fence: '=', fenceInside: true},
		},
	},
	blocks: blockNone, separators: ")", flat: "([{",
	rules: []rule{
		{match: "^ function ( @", kind: "function"},
		{match: "^ macro ( @", kind: "macro"},
		{match: "^ set ( @", kind: "variable"},
		{match: "^ option|cmake_dependent_option ( @", kind: "option"},
		{match: "^ project ( @", kind: "project"},
		{match: "^ add_custom_target|add_executable|add_library ( @", kind: "target"},
	},
}

var dockerfile = table{
	languages: "Dockerfile",
	lexicon: lexicon{
		letters: "-./:", fold: true,
		soft:     "add arg as cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell stopsignal user volume workdir",
		comments: []comment{{open: "#", first: true}},
		strings:  []quote{longDouble, longSingle},
	},
	blocks: blockNone, newlines: true, trailing: `\`, flat: "([{", separators: "\x00",
	rules: []rule{
		{match: "^ from ... as @", kind: "stage", body: bodySection, level: 1},
		{match: "^ arg @", kind: "argument"},
		{match: "^ env @", kind: "variable"},
	},
}
