using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

/// <summary>
/// Says where names of C# are defined, as the compiler does: dotnet RoslynOracle.dll DIRECTORY. Each line of the
/// input is PATH, LINE and COLUMN, with tabs between, below the directory. The answer is PATH and LINE, or empty.
/// The folder Roslyn/bincore of a .NET SDK has csc.dll, which compiles it, and the two libraries that it needs.
/// </summary>
static class RoslynOracle
{
    static void Main(string[] args)
    {
        string root = Path.GetFullPath(args[0]);
        // What the compiler would be told by a project file: all of the language, and no symbols but the usual ones.
        var options = new CSharpParseOptions(LanguageVersion.Latest, DocumentationMode.None, SourceCodeKind.Regular,
            new[] { "NETSTANDARD2_0", "NETSTANDARD", "NETCOREAPP", "NETCOREAPP3_1" });
        var trees = new Dictionary<string, SyntaxTree>();
        foreach (string file in Directory.EnumerateFiles(root, "*.cs", SearchOption.AllDirectories))
        {
            string path = Path.GetRelativePath(root, file).Replace('\\', '/');
            trees[path] = CSharpSyntaxTree.ParseText(File.ReadAllText(file), options, path);
        }
        var libraries = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")).Split(Path.PathSeparator)
            .Where(File.Exists).Select(p => MetadataReference.CreateFromFile(p));
        var compilation = CSharpCompilation.Create("oracle", trees.Values, libraries,
            new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, allowUnsafe: true));
        var models = new Dictionary<string, SemanticModel>();
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true };
        for (string line; (line = Console.In.ReadLine()) != null;)
        {
            string[] parts = line.Split('\t');
            if (!trees.TryGetValue(parts[0], out SyntaxTree tree))
            {
                output.WriteLine();
                continue;
            }
            if (!models.TryGetValue(parts[0], out SemanticModel model))
            {
                models[parts[0]] = model = compilation.GetSemanticModel(tree);
            }
            Location at = Find(tree, model, int.Parse(parts[1]), int.Parse(parts[2]));
            output.WriteLine(at == null ? "" : at.SourceTree.FilePath + "\t" + (at.GetLineSpan().StartLinePosition.Line + 1));
        }
    }

    /// <summary>Returns where the name at a line and a column of code points is defined in the sources, or null.</summary>
    static Location Find(SyntaxTree tree, SemanticModel model, int line, int column)
    {
        var text = tree.GetText();
        if (line < 1 || line > text.Lines.Count)
        {
            return null;
        }
        int position = text.Lines[line - 1].Start;
        for (int i = 1; i < column && position < text.Lines[line - 1].End; i++)
        {
            position += char.IsHighSurrogate(text[position]) ? 2 : 1;
        }
        SyntaxToken token = tree.GetRoot().FindToken(position);
        if (!token.IsKind(SyntaxKind.IdentifierToken) || token.Parent == null)
        {
            return null;
        }
        SyntaxNode node = token.Parent;
        ISymbol symbol = node is SimpleNameSyntax ? Resolve(model, node) : model.GetDeclaredSymbol(node);
        if (symbol is INamespaceSymbol)
        {
            return null; // every file that names it defines it, so none is the right one
        }
        return symbol?.OriginalDefinition.Locations.FirstOrDefault(l => l.IsInSource);
    }

    /// <summary>Returns the symbol that a name refers to; of several, the first.</summary>
    static ISymbol Resolve(SemanticModel model, SyntaxNode name)
    {
        SymbolInfo info = model.GetSymbolInfo(name);
        ISymbol symbol = info.Symbol ?? info.CandidateSymbols.FirstOrDefault();
        if (symbol is IAliasSymbol alias)
        {
            symbol = alias.Target;
        }
        if (symbol is IMethodSymbol method)
        {
            symbol = method.ReducedFrom ?? method; // an extension method is called as if it were a member
        }
        return symbol;
    }
}
