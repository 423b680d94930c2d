package outline

var matlab = table{
	languages: "MATLAB",
	lexicon: lexicon{
		keywords: "break case catch classdef continue else elseif end endfor endfunction endif endswitch endwhile end_try_catch end_unwind_protect for function global if otherwise parfor persistent return spmd switch try unwind_protect until do while",
		soft:     "arguments enumeration events methods properties",
		comments: []comment{{open: "%{", close: "%}", first: true}, {open: "#{", close: "#}", first: true}, percent, hash, {open: "..."}},
		strings: []quote{
			{open: `"`, close: `"`, escape: '\\', doubled: true},
			{open: "'", close: "'", doubled: true, apart: true},
		},
	},
	blocks: blockWords, opens: "classdef for if parfor spmd switch try unwind_protect while do ^methods ^properties ^events ^enumeration",
	closes:   "end endfor=for endfunction=function endif=if endswitch=switch endwhile=while end_try_catch=try end_unwind_protect=unwind_protect until=do",
	newlines: true, separators: ";,", locals: true,
	rules: []rule{
		{match: "^ classdef ()? @", kind: "class"},
		{match: "^ function . = @.", kind: "function", owner: "class", in: "class", opens: true},
		{match: "^ function @.", kind: "function", owner: "class", in: "class", opens: true},
		{match: "^ function . = @.", kind: "function", owner: "class", body: bodyNone},
		{match: "^ function @.", kind: "function", owner: "class", body: bodyNone},
		{match: "^ @ =", kind: "variable", in: "none"},
	},
}
