package outline

var (
	fortranFree = newFortran("Fortran Free Form", 0, []comment{{open: "!"}})
	fortran     = newFortran("Fortran", 6, []comment{{open: "!"}, {open: "c", column: 1}, {open: "C", column: 1}, {open: "*", column: 1}})
)

// preprocessor are the directives of the C preprocessor that occur in Fortran.
var preprocessor = []comment{
	{open: "#if", first: true, directive: true, ends: true}, {open: "#el", first: true, directive: true, ends: true}, {open: "#endif", first: true, directive: true, ends: true},
	{open: "#define", first: true}, {open: "#undef", first: true}, {open: "#include", first: true},
}

// newFortran returns the table of Fortran in one of its two source forms. In one of them, a
// byte in the column continued means that the line continues the previous one.
func newFortran(languages string, continued int32, comments []comment) table {
	return table{
		languages: languages,
		lexicon: lexicon{
			fold:     true,
			keywords: "",
			soft:     "abstract allocatable allocate associate block call case character class common complex contains continue cycle data deallocate default dimension do double elemental else elseif end enddo endif endfunction endinterface endmodule endprogram endsubroutine endtype endselect endwhere enum enumeration enumerator equivalence exit extends external forall format function generic goto if implicit import include integer intent interface intrinsic kind logical module namelist none nullify only operator optional parameter pointer precision private procedure program public pure read real recursive result return save select sequence stop submodule subroutine target then type use value where while write",
			comments: append(comments, preprocessor...),
			strings:  []quote{doubledDouble, doubledSingle},
		},
		blocks: blockWords,
		opens:  "=module =submodule =program =subroutine =function =interface =type =enum =enumeration =procedure =block", endNames: true,
		closes:   "end endmodule=module endprogram=program endsubroutine=subroutine endfunction=function endinterface=interface endtype=type",
		newlines: true, trailing: "&", continues: "&", joins: "&", continued: continued, locals: true,
		rules: []rule{
			{match: "^ end", body: bodyPlain}, // its name is a use
			{match: "^ module procedure", body: bodyNone},
			{match: "^ module @ $", kind: "module", opens: true},
			{match: "^ submodule () @", kind: "submodule", opens: true},
			{match: "^ program @", kind: "program", opens: true},
			{match: "^ block data @", kind: "blockData", opens: true},
			{match: "subroutine @", kind: "subroutine", opens: true},
			{match: "function @ ()", kind: "function", opens: true},
			{match: "^ entry @ ()", kind: "function", in: "function", body: bodyNone},
			{match: "^ entry @ () $", kind: "subroutine", in: "subroutine", body: bodyNone},
			{match: "^ entry @ $", kind: "subroutine", in: "subroutine", body: bodyNone},
			{match: "^ type @ $", kind: "type", opens: true},
			{match: "^ type , ... : : @", kind: "type", opens: true},
			{match: "^ type : : @", kind: "type", opens: true},
			{match: "^ interface @ $", kind: "interface", opens: true},
			{match: "^ abstract? interface", opens: true},
			{match: "^ enum ,", opens: true},
			{match: "^ enumeration type : : @", kind: "type", opens: true},
		},
	}
}
