package outline

import (
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
)

// keywordLists are the keywords of the languages with hand-written grammars, whose own
// tables contain only those that matter for definitions.
var keywordLists = map[code.Language]string{
	"C":          keywordsOfC,
	"C++":        keywordsOfC + " alignas alignof and bool catch char16_t char32_t char8_t class co_await co_return co_yield concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export false final friend mutable namespace new noexcept not nullptr operator or override private protected public reinterpret_cast requires static_assert static_cast template this throw true try typeid typename using virtual wchar_t xor",
	"C#":         "abstract as async await base bool break byte case catch char checked class const continue decimal default delegate do double else enum event explicit extern false finally fixed float for foreach get goto if implicit in init int interface internal is lock long namespace new null object operator out override params partial private protected public readonly record ref required return sbyte sealed set short sizeof stackalloc static string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using value var virtual void volatile when where while yield",
	"Go":         "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var",
	"Java":       "abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for goto if implements import instanceof int interface long native new non-sealed null package permits private protected public record return sealed short static strictfp super switch synchronized this throw throws transient true try var void volatile while yield",
	"JavaScript": keywordsOfJavaScript,
	"TypeScript": keywordsOfTypeScript,
	"TSX":        keywordsOfTypeScript,
	"PHP":        "abstract and array as bool break callable case catch class clone const continue declare default do echo else elseif empty endfor endforeach endif endswitch endwhile enum exit extends false final finally float fn for foreach function global goto if implements include include_once instanceof insteadof int interface isset list match mixed namespace new null or print private protected public readonly require require_once return self static string switch this throw trait true try unset use var void while xor yield",
	"Python":     "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
	"Ruby":       "BEGIN END alias and begin break case class def defined? do else elsif end ensure extend false for if in include loop module next nil not or private protected public raise redo require require_relative rescue retry return self super then true undef unless until when while yield attr_accessor attr_reader attr_writer",
	"Rust":       "Self as async await break const continue crate dyn else enum extern false fn for if impl in let loop macro_rules match mod move mut pub ref return self static struct super trait true type union unsafe use where while bool char f32 f64 i128 i16 i32 i64 i8 isize str u128 u16 u32 u64 u8 usize",
	"Shell":      "alias break case continue declare do done elif else esac eval exec exit export fi for function if in local read readonly return select set shift source test then time trap unset until while",
}

const (
	keywordsOfC          = "_Alignas _Alignof _Atomic _Bool _Complex _Generic _Noreturn _Static_assert _Thread_local auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
	keywordsOfJavaScript = "as async await break case catch class const continue debugger default delete do else export extends false finally for from function get if import in instanceof let new null of return set static super switch this throw true try typeof undefined var void while with yield"
	keywordsOfTypeScript = keywordsOfJavaScript + " abstract any asserts bigint boolean declare enum implements infer interface is keyof module namespace never number object override private protected public readonly satisfies string symbol type unique unknown"
)

// keywordTables holds the lookup tables of these lists, which are built on first use.
var keywordTables = func() map[code.Language]func() *wordTable {
	by := map[code.Language]func() *wordTable{}
	for language, list := range keywordLists {
		by[language] = sync.OnceValue(func() *wordTable {
			return (&lexicon{keywords: list}).compileLexis(nil).words
		})
	}
	return by
}()

// plainTable reads the tokens of languages that have neither a grammar nor a table.
var plainTable = sync.OnceValue(func() *lexis {
	l := lexicon{
		keywords: "and begin break case catch class const continue def default do else elif end enum export extends false final for fn func function if import in interface let match module namespace new nil not null or package private protected public return self static struct switch then this throw true try type use var void while with",
		comments: []comment{slashSlash, slashStar, {open: "#", apart: true}},
		strings:  []quote{doubleQuoted, {open: "'", close: "'", escape: '\\', apart: true}},
	}
	return l.compileLexis(nil)
})

// prose lists the languages without tokens, which are text for people.
var prose = map[code.Language]bool{
	"": true, "Text": true, "Markdown": true, "RMarkdown": true, "reStructuredText": true, "AsciiDoc": true, "Textile": true, "Org": true,
	"CSV": true, "TSV": true, "Diff": true, "Gettext Catalog": true, "Rich Text Format": true, "SVG": false,
}
