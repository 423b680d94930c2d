package outline

var thrift = table{
	languages: "Thrift",
	lexicon: lexicon{
		keywords: "const enum exception extends include cpp_include namespace oneway optional required service struct throws typedef union void async",
		soft:     "binary bool byte double i8 i16 i32 i64 interaction list map set string senum slist xsd_all xsd_optional true false",
		comments: []comment{slashSlash, slashStar, hash},
		strings:  []quote{doubleQuoted, singleQuoted},
	},
	angles: true, newlines: true, trailing: ",<(:=", separators: ";,", continues: "throws extends = (",
	rules: []rule{
		{match: "^ namespace . @*", kind: "namespace", body: bodyNone, in: "file"},
		{match: "^ struct @", kind: "struct"},
		{match: "^ union @", kind: "union"},
		{match: "^ exception @", kind: "exception", body: bodyEnter},
		{match: "^ service|interaction @", kind: "service"},
		{match: "^ enum|senum @", kind: "enum"},
		{match: "^ typedef ... @ ()? $", kind: "typedef"},
		{match: "^ const ... @ =", kind: "constant"},
		{match: "^ @", kind: "enumerator", in: "enum"},
		{match: "^ ... @ ()", kind: "method", in: "service", body: bodyNone},
		{match: "^ ... @ = ", kind: "field", in: "struct union exception"},
		{match: "^ ... @ ()? $", kind: "field", in: "struct union exception"},
	},
}
