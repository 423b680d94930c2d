package outline

var protobuf = table{
	languages: "Protocol Buffer",
	lexicon: lexicon{
		keywords: "enum extend import message oneof option package rpc service syntax returns",
		soft:     "bool bytes double export extensions fixed32 fixed64 float group int32 int64 local map max optional public repeated required reserved sfixed32 sfixed64 sint32 sint64 stream string to true false uint32 uint64 weak edition",
		comments: []comment{slashSlash, slashStar},
		strings:  []quote{doubleQuoted, singleQuoted},
	},
	angles: true,
	rules: []rule{
		{match: "^ package @*", kind: "package", in: "file"},
		{match: "^ export|local? message @ {", kind: "message", body: bodyEnter},
		{match: "^ export|local? enum @ {", kind: "enum"},
		{match: "^ oneof @ {", kind: "oneof", body: bodyEnter},
		{match: "^ extend @* {", body: bodyEnter, in: "message group"},
		{match: "^ extend @* {", kind: "extension", body: bodyEnter},
		{match: "^ service @ {", kind: "service"},
		{match: "^ rpc @ ()", kind: "rpc", body: bodySkip},
		{match: "^ option|reserved|extensions|syntax|import|edition", body: bodyNone},
		{match: "^ @ =", kind: "enumerator", in: "enum"},
		{match: "^ optional|repeated|required group @ =", kind: "group", body: bodyEnter, in: "message group"},
		{match: "^ ... @ = .", kind: "field", in: "message oneof group extension"},
	},
}
