package names

// This file describes the languages whose imports, packages and receivers are read.

var golang = description{
	languages: "Go", typeNext: true, declares: "var const", functions: "func", assigns: ":=",
	headers: "if for switch select case", embeds: true, directories: true, compositeLiterals: true,
	imports: readGoImports, places: placesOfGo,
}

var java = description{
	languages: "Java", typeParameters: true, typeFirst: true, lambda: "->", headers: "for try catch while if switch",
	self: "this", super: "super", implicitSelf: true, heirs: "extends implements permits", directories: true,
	imports: readJavaImports, places: placesOfJava,
}

var kotlin = description{
	languages: "Kotlin", typeParameters: true, annotation: ":", result: ":", declares: "val var for catch", functions: "fun",
	headers: "for catch while if when", self: "this", super: "super", implicitSelf: true, heirs: ":", directories: true,
	imports: readJavaImports, places: placesOfJava,
}

var csharp = description{
	languages: "C#", typeParameters: true, typeFirst: true, lambda: "=>", headers: "for foreach using catch while if switch fixed",
	self: "this", super: "base", implicitSelf: true, heirs: ":", directories: true,
	imports: readUsings,
}

var cFamily = description{
	languages: "C, C++", typeParameters: true, typeFirst: true, headers: "for catch while if switch",
	self: "this", implicitSelf: true, arrowMember: true, heirs: ": public private protected virtual",
	imports: readIncludes, places: placesOfIncludes,
}

var typescript = description{
	languages: "TypeScript, JavaScript, JSX, TSX", typeParameters: true, annotation: ":", result: ":", declares: "let const var catch",
	functions: "function", lambda: "=>", headers: "for catch", self: "this", super: "super",
	heirs: "extends implements", imports: readModuleImports, places: placesOfModules,
}

var python = description{
	languages: "Python", indented: true, annotation: ":", result: "->", declares: "for as global nonlocal",
	functions: "def lambda", assigns: "=", selfParameter: true, functionScope: true, heirGroup: true,
	keywordArguments: true, super: "super", imports: readPythonImports, places: placesOfPython,
}

var rust = description{
	languages: "Rust", typeParameters: true, annotation: ":", result: "->", declares: "let for static const", functions: "fn", bars: true,
	headers: "for if while match", self: "self Self", compositeLiterals: true,
	imports: readUses, places: placesOfRust,
}
