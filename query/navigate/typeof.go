package navigate

import (
	"context"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A typ is a type with the file that mentions it and, if known, its definition.
type typ struct {
	names.Type
	src *source
	def *code.Definition // in src
	// module is set if the typ stands for an imported package or module, not a type.
	module *names.Import
	// function is the definition of a function whose result type is not resolved yet.
	function *target
}

func (t *typ) isKnown() bool {
	return t.IsKnown() || t.def != nil || t.module != nil || t.function != nil
}

// typeIn combines a type with the file that mentions it.
func (r *resolver) typeIn(in *source, t names.Type) typ {
	if s := r.sources[t.File]; s != nil {
		in = s
	}
	return typ{Type: t, src: in}
}

// resolveMember returns the definitions of a member of an expression.
func (r *resolver) resolveMember(ctx context.Context, in *source, x *names.Expr, name string, depth int) []target {
	t := r.typeOf(ctx, in, x, depth+1)
	if t.isKnown() {
		if found := r.membersOf(ctx, t, name, depth+1); len(found) > 0 {
			return found
		}
	}
	if depth > 0 || r.strict {
		return nil // guesses are good enough only for the name itself
	}
	if t.module != nil && names.IsExternal(t.module.Module) && t.module.Spec > 0 {
		return nil
	}
	return r.guessMember(ctx, in, x, name)
}

// typeOf returns the type of an expression, or the zero typ if it is unknown.
func (r *resolver) typeOf(ctx context.Context, in *source, x *names.Expr, depth int) typ {
	if x == nil || depth > maxResolveDepth || r.isExhausted(ctx) {
		return typ{}
	}
	switch x.Kind {
	case names.ExprName:
		if b := in.names.Binding(x.Name, x.At); b == nil || in.names.ImportAt(b.At) != nil {
			if one := in.names.ImportOf(x.Name); one != nil && (one.Member == "" || in.names.MayBeModule(one)) {
				if one.Member == "" {
					return typ{module: one, src: in}
				}
				if found := r.resolveImport(ctx, in, one); len(found) > 0 {
					return r.typeOfTarget(ctx, &found[0], depth+1)
				}
				return typ{module: one, src: in}
			}
		}
		return r.typeOfFirst(ctx, r.resolveName(ctx, in, x.Name, x.At, depth+1), depth)
	case names.ExprSelf:
		if t := in.names.ExtendedType(x.At); t.IsKnown() {
			return r.typeIn(in, t)
		}
		name, def := in.names.Class(x.At)
		if name == "" {
			return typ{}
		}
		return typ{Type: names.Type{File: in.names, Name: name, At: x.At}, src: in, def: def}
	case names.ExprSuper:
		if _, def := in.names.Class(x.At); def != nil {
			for _, heir := range in.names.Heirs(def) {
				return r.typeIn(in, heir)
			}
		}
	case names.ExprMember:
		if module := in.names.ModuleOf(x); module != nil {
			return typ{module: module, src: in}
		}
		return r.typeOfFirst(ctx, r.resolveMember(ctx, in, x.X, x.Name, depth+1), depth)
	case names.ExprCall:
		return r.resultOf(ctx, in, x, depth)
	case names.ExprIndex:
		t := r.typeOf(ctx, in, x.X, depth+1)
		t = r.expand(ctx, t, depth+1)
		return r.typeIn(t.src, t.Element())
	case names.ExprOf:
		return r.typeIn(in, x.Type)
	case names.ExprLiteral:
		if x.X != nil {
			element := r.typeOf(ctx, in, x.X, depth+1)
			if element.IsKnown() && element.def == nil {
				return typ{Type: names.Type{File: element.File, Name: names.ListName, Args: []names.Type{element.Type}}, src: element.src}
			}
		}
	}
	return typ{}
}

func (r *resolver) typeOfFirst(ctx context.Context, found []target, depth int) typ {
	for k := range found[:min(len(found), 2)] {
		if t := r.typeOfTarget(ctx, &found[k], depth+1); t.isKnown() {
			return t
		}
	}
	return typ{}
}

// typeOfTarget returns the type of the value defined at t; for a type, the type itself.
func (r *resolver) typeOfTarget(ctx context.Context, t *target, depth int) typ {
	f := t.file.names
	if t.binding != nil {
		return r.typeOfSource(ctx, t.file, f.ValueType(t.binding), t.token, depth)
	}
	d := t.definition()
	switch {
	case d == nil:
		if t := r.typeIn(t.file, f.EmbeddedType(t.token)); t.isKnown() {
			return t
		}
	case d.Kind == "enumerator":
		return r.typeIn(t.file, names.Type{File: f, Name: d.Parent, At: t.token})
	case names.IsFunction(d.Kind):
		return typ{src: t.file, function: t}
	case names.IsType(d.Kind):
		return typ{Type: names.Type{File: f, Name: d.Name, At: t.token, Static: true}, src: t.file, def: d}
	}
	if _, ok := f.ArrowSource(t.token); ok {
		return typ{src: t.file, function: t}
	}
	return r.typeOfSource(ctx, t.file, f.DeclaredSource(t.token), t.token, depth)
}

// typeOfSource returns the type that a declaration gives its name.
func (r *resolver) typeOfSource(ctx context.Context, in *source, s names.Source, i, depth int) typ {
	if depth > maxResolveDepth {
		return typ{}
	}
	switch {
	case s.Self:
		if name, def := in.names.Class(i); name != "" {
			return typ{Type: names.Type{File: in.names, Name: name, At: i}, src: in, def: def}
		}
		return typ{}
	case s.Type.IsKnown():
		return r.typeIn(in, s.Type)
	case s.Expr == nil:
		return typ{}
	}
	t := r.typeOf(ctx, in, s.Expr, depth+1)
	if s.Element {
		t = r.expand(ctx, t, depth+1)
		return r.typeIn(t.src, t.Element())
	}
	if t.Name == names.TupleName && s.Index < len(t.Args) {
		return r.typeIn(t.src, t.Args[s.Index])
	}
	if s.Index > 0 {
		return typ{}
	}
	t.Static = false
	return t
}

// resultOf returns the type of the result of a call.
func (r *resolver) resultOf(ctx context.Context, in *source, x *names.Expr, depth int) typ {
	callee := r.typeOf(ctx, in, x.X, depth+1)
	switch {
	case callee.function != nil:
		t := callee.function
		s, arrow := t.file.names.ArrowSource(t.token)
		if !arrow {
			s = t.file.names.DeclaredSource(t.token)
		}
		if s.Type.Name == "Self" || s.Type.Name == "this" {
			if name, def := t.file.names.Class(t.token); name != "" {
				return typ{Type: names.Type{File: t.file.names, Name: name, At: t.token}, src: t.file, def: def}
			}
		}
		result := r.typeOfSource(ctx, t.file, s, t.token, depth+1)
		if result.Name == names.TupleName {
			return result
		}
		if result.IsKnown() && x.X.Kind == names.ExprMember && isTypeParameter(result.Name) { // of the receiver
			owner := r.typeOf(ctx, in, x.X.X, depth+1)
			if len(owner.Args) > 0 {
				return r.typeIn(owner.src, owner.Args[len(owner.Args)-1])
			}
		}
		return result
	case callee.Name == names.FunctionName && callee.Result != nil:
		return r.typeIn(callee.src, *callee.Result)
	case callee.Static:
		callee.Static = false
		return callee
	}
	return typ{}
}

// isTypeParameter reports whether a name looks like a type parameter: T, K2.
func isTypeParameter(name string) bool {
	return len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z' || len(name) == 2 && name[0] >= 'A' && name[0] <= 'Z' && name[1] >= '0' && name[1] <= '9'
}

// expand replaces a type that only names another type with that type.
func (r *resolver) expand(ctx context.Context, t typ, depth int) typ {
	for n := 0; n < 4 && len(t.Args) == 0 && t.isKnown(); n++ {
		if t.Of != nil {
			return r.typeOf(ctx, t.src, t.Of, depth+1)
		}
		found := r.definitionsOfType(ctx, t, depth+1)
		if len(found) == 0 {
			return t
		}
		heirs := found[0].file.names.Heirs(found[0].definition())
		if len(heirs) != 1 {
			return t
		}
		t = r.typeIn(found[0].file, heirs[0])
	}
	return t
}

// membersOf returns the definitions of a member of a type or of a type that it extends.
func (r *resolver) membersOf(ctx context.Context, t typ, name string, depth int) []target {
	if depth > maxResolveDepth || r.isExhausted(ctx) {
		return nil
	}
	if t.module != nil {
		return r.membersOfModule(ctx, t, name)
	}
	if t.src == nil {
		return nil
	}
	t = typ{Type: t.Unwrap(), src: t.src, def: t.def}
	if s := r.sources[t.File]; s != nil && t.def == nil {
		t.src = s
	}
	switch {
	case t.Body > 0:
		return targetsOf(t.src, t.src.names.BodyMembers(t.Body, name))
	case t.Of != nil:
		return r.membersOf(ctx, r.typeOf(ctx, t.src, t.Of, depth+1), name, depth+1)
	}
	if r.walked == nil {
		r.walked = map[memberKey]int{}
		defer func() { r.walked = nil }()
	}
	defined := r.definitionsOfType(ctx, t, depth)
	for _, d := range defined {
		key := memberKey{d, name}
		if least, ok := r.walked[key]; ok && least <= depth {
			continue
		}
		r.walked[key] = depth
		if found := r.membersOfDefinition(ctx, t, d, name, depth); len(found) > 0 {
			delete(r.walked, key)
			return found
		}
	}
	if len(defined) == 0 && t.Name != "" {
		return r.membersElsewhere(ctx, t.src, t.Name, name, t.src.names.OtherCrate(t.Type, t.src.repo.Name))
	}
	return nil
}

// memberKey is a member of the type that a target defines.
type memberKey struct {
	of   target
	name string
}

// membersOfDefinition returns the definitions of a member of the type t that d defines, or of one
// that it extends.
func (r *resolver) membersOfDefinition(ctx context.Context, t typ, d target, name string, depth int) []target {
	if found := targetsOf(d.file, d.file.names.Members(d.definition(), name)); len(found) > 0 {
		return found
	}
	if found := r.membersElsewhere(ctx, d.file, d.definition().Name, name, ""); len(found) > 0 {
		return found
	}
	for _, heir := range d.file.names.Heirs(d.definition()) {
		if heir.Name == t.Name && heir.Qualifier == t.Qualifier {
			continue
		}
		if found := r.membersOf(ctx, r.typeIn(d.file, heir), name, depth+1); len(found) > 0 {
			return found
		}
	}
	if !names.IsType(d.definition().Kind) { // an object
		value := r.typeOfTarget(ctx, &d, depth+1)
		if value.def == nil || value.src != d.file {
			if found := r.membersOf(ctx, value, name, depth+1); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

func targetsOf(in *source, tokens []int) (out []target) {
	for _, i := range tokens {
		out = append(out, target{file: in, token: i})
	}
	return out
}

// membersElsewhere returns the members of a type that other files define outside its
// body: methods in Go, C++ and Rust, partial classes, assignments to prototypes. Those of another
// crate of Rust must be in the directory of the crate.
func (r *resolver) membersElsewhere(ctx context.Context, in *source, typeName, name, crate string) []target {
	var near []*candidate
	all := r.lookupMembers(ctx, in, typeName, name)
	for k := range all {
		c := &all[k]
		if dir, _, _ := strings.Cut("/"+strings.ReplaceAll(c.path, "-", "_"), "/src/"); crate != "" && !strings.Contains(dir+"/", "/"+crate+"/") {
			continue
		}
		if isNamed(c.symbol) && c.symbol.Parent == typeName && (!in.names.KeepsTypesInDirectory() || sameDirectory(in, c)) {
			near = append(near, c)
		}
	}
	sortNear(near, in)
	return r.openAll(ctx, near[:min(len(near), maxOpened)])
}

// membersOfModule returns the top-level definitions of a name in a module or package.
func (r *resolver) membersOfModule(ctx context.Context, t typ, name string) []target {
	return r.inPlaces(ctx, t.src, name, t.src.names.Places(t.module), func(s *code.Symbol) bool {
		return s.Parent == "" || !names.IsType(s.ParentKind) && !names.IsFunction(s.ParentKind)
	})
}

// definitionsOfType returns the definitions of a type.
func (r *resolver) definitionsOfType(ctx context.Context, t typ, depth int) []target {
	if t.def != nil {
		if i, ok := t.src.names.TokenAt(int(t.def.Offset)); ok && t.src.names.DefinitionAt(i) != nil {
			return []target{{file: t.src, token: i}}
		}
	}
	if t.Name == "" || t.src == nil || depth > maxResolveDepth {
		return nil
	}
	var found []target
	f := t.src.names
	if t.Qualifier != "" {
		first, _, _ := strings.Cut(t.Qualifier, ".")
		if one := f.ImportOf(t.Qualifier); one != nil && (one.Member == "" || f.MayBeModule(one)) {
			found = r.membersOfModule(ctx, typ{module: one, src: t.src}, t.Name)
		} else if one := f.ImportOf(first); one != nil && one.Member == "" {
			found = r.membersOfModule(ctx, typ{module: one, src: t.src}, t.Name)
		} else {
			found = r.membersOf(ctx, typ{Type: names.Type{File: f, Name: t.Qualifier[strings.LastIndexAny(t.Qualifier, ".:")+1:], At: t.At}, src: t.src}, t.Name, depth+1)
		}
	}
	if len(found) == 0 {
		found = r.resolveName(ctx, t.src, t.Name, t.At, depth+1)
		if len(found) > 0 && found[0].file == t.src && f.OtherCrate(t.Type, t.src.repo.Name) != "" {
			return nil
		}
	}
	if len(found) > 0 && found[0].binding != nil && found[0].binding.Parameter && found[0].definition() == nil { // a type parameter
		if bound := found[0].file.names.ValueType(found[0].binding).Type; bound.IsKnown() && bound.Name != t.Name {
			return r.definitionsOfType(ctx, r.typeIn(found[0].file, bound), depth+1)
		}
	}
	found = slices.DeleteFunc(slices.Clone(found), func(one target) bool {
		d := one.definition()
		return d == nil || names.IsFunction(d.Kind) && !f.FunctionsHaveMembers()
	})
	return found[:min(len(found), 2)]
}

// parametersOf returns the parameter with a name of the function that is called.
func (r *resolver) parametersOf(ctx context.Context, in *source, callee *names.Expr, name string) []target {
	t := r.typeOf(ctx, in, callee, 1)
	if t.Static {
		if made := r.membersOf(ctx, t, "__init__", 1); len(made) > 0 {
			t = typ{src: made[0].file, function: &made[0]}
		} else {
			return r.membersOf(ctx, t, name, 1)
		}
	}
	if t.function == nil {
		return nil
	}
	if i := t.function.file.names.Parameter(t.function.token, name); i >= 0 {
		return []target{{file: t.function.file, token: i, binding: t.function.file.names.Binding(name, i)}}
	}
	return nil
}
