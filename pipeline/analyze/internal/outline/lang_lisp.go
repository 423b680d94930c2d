package outline

const lispLetters = "-*+!?<>=&%/.$@^~"

var clojure = table{
	languages: "Clojure",
	lexicon: lexicon{
		letters:  "-*+!?<>=&%'/.$",
		soft:     "case catch cond cond-> cond->> def definline definterface defmacro defmethod defmulti defn defn- defonce defprotocol defrecord defstruct deftest deftype do doseq dotimes false finally fn for if if-let if-not import let letfn loop nil ns quote recur reify require set! throw true try use var when when-let when-not",
		comments: []comment{semicolon},
		strings:  []quote{longDouble, {open: `\`, char: true}},
	},
	blocks: blockLists,
	rules:  clojureRules(),
}

// clojureRules returns the rules of Clojure, whose names may have metadata before them.
func clojureRules() []rule {
	var rules []rule
	for _, form := range []rule{
		{match: "^ ns", kind: "namespace", body: bodySection, level: 1},
		{match: "^ defn|defn-|defmulti|definline", kind: "function"},
		{match: "^ defmacro", kind: "macro"},
		{match: "^ defprotocol", kind: "protocol", body: bodyNone},
		{match: "^ defrecord|deftype|definterface|defstruct", kind: "type", body: bodyNone},
		{match: "^ deftest", kind: "test", body: bodyNone},
		{match: "^ def|defonce", kind: "variable"},
	} {
		for _, name := range []string{" @", ` \^ : . \^ . @`, ` \^ : . @`, ` \^ {} @`, ` \^ . @`} {
			with := form
			with.match += name
			rules = append(rules, with)
		}
	}
	return rules
}

var lisp = table{
	languages: "Common Lisp",
	lexicon: lexicon{
		letters: lispLetters, fold: true,
		soft:     "and case cond declare defclass defconstant defgeneric define-condition defmacro defmethod defpackage defparameter defstruct deftype defun defvar do dolist dotimes flet function if in-package labels lambda let let* loop nil not or progn quote return setf setq unless when define-compiler-macro define-modify-macro defsetf",
		comments: []comment{semicolon, {open: "#|", close: "|#", nested: true}},
		strings:  []quote{longDouble, {open: `#\`, char: true}, {open: "|", close: "|"}},
	},
	blocks: blockLists,
	rules: []rule{
		{match: "^ defun|defmethod|defgeneric ( setf @", kind: "function"},
		{match: "^ defun|defmethod|defgeneric|defsetf @", kind: "function"},
		{match: "^ defmacro|define-compiler-macro|define-modify-macro @", kind: "macro"},
		{match: "^ defvar|defparameter @", kind: "variable"},
		{match: "^ defconstant @", kind: "constant"},
		{match: "^ defclass|define-condition @", kind: "class", body: bodyNone},
		{match: "^ defstruct (? @", kind: "struct", body: bodyNone},
		{match: "^ deftype @", kind: "type", body: bodyNone},
		{match: "^ defpackage :? @", kind: "package", body: bodyNone},
	},
}

var emacsLisp = table{
	languages: "Emacs Lisp",
	lexicon: lexicon{
		letters:  lispLetters + ":",
		soft:     "and catch cl-defgeneric cl-defmacro cl-defmethod cl-defstruct cl-defun cond condition-case declare defadvice defalias defclass defconst defcustom defface defgroup define-derived-mode define-inline define-minor-mode defmacro defsubst defun defvar defvar-local dolist dotimes if interactive lambda let let* nil not or prog1 progn quote require save-excursion setq throw unless unwind-protect when while",
		comments: []comment{semicolon},
		strings:  []quote{longDouble, {open: "?", char: true, escape: '\\', apart: true}},
	},
	blocks: blockLists,
	rules: []rule{
		{match: "^ defun|defsubst|defadvice|cl-defun|cl-defmethod|cl-defgeneric|define-inline @", kind: "function"},
		{match: "^ defmacro|cl-defmacro @", kind: "macro"},
		{match: "^ defvar|defvar-local @", kind: "variable"},
		{match: "^ defconst @", kind: "constant"},
		{match: "^ defcustom @", kind: "variable"},
		{match: "^ defgroup @", kind: "group"},
		{match: "^ defface @", kind: "face"},
		{match: "^ defalias|defvaralias|define-obsolete-function-alias|define-obsolete-variable-alias . @", kind: "alias"},
		{match: "^ define-minor-mode|define-derived-mode|define-globalized-minor-mode @", kind: "mode"},
		{match: "^ ert-deftest @", kind: "test"},
		{match: "^ cl-defstruct (? @", kind: "struct", body: bodyNone},
		{match: "^ defclass @", kind: "class", body: bodyNone},
	},
}

var scheme = table{
	languages: "Scheme, Racket",
	lexicon: lexicon{
		letters:  lispLetters + ":",
		soft:     "and begin case cond define define-macro define-module define-public define-record-type define-struct define-syntax define-syntax-rule define-values define* delay do else if lambda let let* letrec let-syntax module not or provide quasiquote quote require set! struct syntax-rules unless when",
		comments: []comment{semicolon, {open: "#|", close: "|#", nested: true}},
		strings:  []quote{longDouble, {open: `#\`, char: true}},
	},
	blocks: blockLists,
	rules: []rule{
		{match: "^ define|define-public|define*|define*-public|define-inlinable|define/contract|define-macro|define-syntax-rule ( @", kind: "function"},
		{match: "^ define-syntax (? @", kind: "macro"},
		{match: "^ define-record-type|define-struct|struct (? @", kind: "struct", body: bodyNone},
		{match: "^ define|define-public @", kind: "variable"},
	},
}
