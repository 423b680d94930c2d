package outline

// The keywords that grammars use.
const (
	wNone word = iota
	wAbstract
	wAlias
	wAlignas
	wAnd
	wAsm
	wAsync
	wAttribute
	wAwait
	wBegin
	wBool
	wBreak
	wCase
	wCatch
	wChar
	wClass
	wConst
	wConstexpr
	wDeclare
	wDeclspec
	wDecltype
	wDef
	wDefault
	wDefine
	wDelegate
	wDelete
	wDo
	wDouble
	wElif
	wElse
	wElseif
	wElsif
	wEnd
	wEnum
	wEvent
	wExport
	wExplicit
	wExtends
	wExtension
	wExtern
	wFinal
	wFinally
	wFloat
	wFn
	wFor
	wForeach
	wFriend
	wFunc
	wFunction
	wGet
	wGlobal
	wIf
	wImpl
	wImplements
	wImport
	wIn
	wInline
	wInstanceof
	wInt
	wInterface
	wInternal
	wLet
	wLong
	wLock
	wMacroRules
	wMod
	wModule
	wMut
	wNamespace
	wNew
	wNoexcept
	wNot
	wOf
	wOperator
	wOr
	wOverride
	wPackage
	wPartial
	wPrivate
	wProtected
	wPub
	wPublic
	wReadonly
	wRecord
	wRef
	wRequires
	wRescue
	wReturn
	wSealed
	wSet
	wShort
	wSigned
	wSizeof
	wStatic
	wStaticAssert
	wStruct
	wSwitch
	wTemplate
	wThen
	wThis
	wThrow
	wThrows
	wTrait
	wTry
	wType
	wTypedef
	wTypename
	wTypeof
	wUnion
	wUnless
	wUntil
	wUnsafe
	wUnsigned
	wUse
	wUsing
	wVar
	wVirtual
	wVoid
	wVolatile
	wWhen
	wWhere
	wWhile
	wYield
	wordCount
)

// spellings holds the text of every word. Each language maps its aliases (such as
// __attribute) in its own table.
var spellings = [wordCount]string{
	wAbstract: "abstract", wAlias: "alias", wAlignas: "alignas", wAnd: "and", wAsm: "asm", wAsync: "async",
	wAttribute: "__attribute__", wAwait: "await", wBegin: "begin", wBool: "bool", wBreak: "break", wCase: "case",
	wCatch: "catch", wChar: "char", wClass: "class", wConst: "const", wConstexpr: "constexpr", wDeclare: "declare",
	wDeclspec: "__declspec", wDecltype: "decltype", wDef: "def", wDefault: "default", wDefine: "define",
	wDelegate: "delegate", wDelete: "delete", wDo: "do", wDouble: "double", wElse: "else", wElseif: "elseif",
	wElsif: "elsif", wEnd: "end", wEnum: "enum", wEvent: "event", wExport: "export", wExplicit: "explicit",
	wExtends: "extends", wExtension: "__extension__", wExtern: "extern", wFinal: "final", wFinally: "finally",
	wFloat: "float", wFn: "fn", wFor: "for", wForeach: "foreach", wFriend: "friend", wFunc: "func",
	wFunction: "function", wGet: "get", wGlobal: "global", wIf: "if", wImpl: "impl", wImplements: "implements",
	wImport: "import", wIn: "in", wInline: "inline", wInstanceof: "instanceof", wInt: "int", wInterface: "interface",
	wInternal: "internal", wLet: "let", wLong: "long", wLock: "lock", wMacroRules: "macro_rules", wMod: "mod",
	wModule: "module", wMut: "mut", wNamespace: "namespace", wNew: "new", wNoexcept: "noexcept", wOf: "of",
	wOperator: "operator", wOverride: "override", wPackage: "package", wPartial: "partial", wPrivate: "private",
	wProtected: "protected", wPub: "pub", wPublic: "public", wReadonly: "readonly", wRecord: "record", wRef: "ref",
	wRequires: "requires", wReturn: "return", wSealed: "sealed", wSet: "set", wShort: "short", wSigned: "signed",
	wSizeof: "sizeof", wStatic: "static", wStaticAssert: "static_assert", wStruct: "struct", wSwitch: "switch",
	wTemplate: "template", wThis: "this", wThrow: "throw", wThrows: "throws", wTrait: "trait", wTry: "try",
	wType: "type", wTypedef: "typedef", wTypename: "typename", wTypeof: "typeof", wUnion: "union", wUnsafe: "unsafe",
	wUnsigned: "unsigned", wUse: "use", wUsing: "using", wVar: "var", wVirtual: "virtual", wVoid: "void",
	wVolatile: "volatile", wWhere: "where", wWhile: "while", wYield: "yield", wElif: "elif", wNot: "not", wOr: "or", wRescue: "rescue", wThen: "then", wUnless: "unless", wUntil: "until", wWhen: "when",
}
