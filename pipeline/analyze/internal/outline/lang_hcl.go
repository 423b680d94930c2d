package outline

var hcl = table{
	languages: "HCL",
	lexicon: lexicon{
		heredocs: true,
		letters:  "-",
		soft:     "data dynamic ephemeral else false for for_each if in locals module null output provider resource terraform true variable",
		comments: []comment{slashSlash, slashStar, hash},
		strings:  []quote{{open: `"`, close: `"`, escape: '\\', hole: "${"}},
	},
	newlines: true, trailing: "=,?:+&|", continues: "? :",
	rules: []rule{
		{match: `^ resource|ephemeral . @" {`, kind: "resource", in: "file", body: bodySkip},
		{match: `^ data . @" {`, kind: "data", in: "file", body: bodySkip},
		{match: `^ variable @" {`, kind: "variable", in: "file", body: bodySkip},
		{match: `^ output @" {`, kind: "output", in: "file", body: bodySkip},
		{match: `^ module @" {`, kind: "module", in: "file", body: bodySkip},
		{match: `^ provider @" {`, kind: "provider", in: "file", body: bodySkip},
		{match: "^ locals {", kind: "locals", in: "file", body: bodyEnter},
		{match: "^ terraform {", in: "file", body: bodySkip},
		{match: "^ @ = ", kind: "local", in: "locals"},
		{match: "^ @ = ", kind: "variable", in: "file"},
		{match: `^ @ @" {`, kind: "block", in: "file", body: bodySkip},
		{match: "^ @ {", kind: "block", in: "file", body: bodySkip},
	},
}
