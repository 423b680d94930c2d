import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.tools.*;

/**
 * Says where names of Java are defined, as the compiler does: java JavacOracle.java DIRECTORY. Each line of the input is
 * PATH, LINE and COLUMN, with tabs between, below the directory. The answer is PATH and LINE, or empty.
 */
public class JavacOracle {
    record Place(String path, long line) {}

    static final Map<String, Map<Long, Element>> names = new HashMap<>();
    static final Map<Element, Place> definitions = new HashMap<>();

    public static void main(String[] args) throws IOException {
        Path root = Path.of(args[0]).toAbsolutePath().normalize();
        List<Path> files;
        try (Stream<Path> walk = Files.walk(root)) {
            files = walk.filter(p -> p.toString().endsWith(".java") && !p.endsWith("module-info.java")).toList();
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        List<String> options = List.of("-proc:none", "-Xmaxerrs", "1", "-nowarn");
        JavacTask task = (JavacTask) compiler.getTask(Writer.nullWriter(), manager, d -> {}, options, null, manager.getJavaFileObjectsFromPaths(files));
        List<CompilationUnitTree> units = new ArrayList<>();
        task.parse().forEach(units::add);
        try {
            task.analyze(); // what has errors is left out
        } catch (RuntimeException e) {
            System.err.println("analyze: " + e);
        }
        Trees trees = Trees.instance(task);
        for (CompilationUnitTree unit : units) {
            read(unit, trees, root);
        }
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] parts = line.split("\t");
            Element element = names.getOrDefault(parts[0], Map.of()).get(key(Long.parseLong(parts[1]), Long.parseLong(parts[2])));
            Place place = element == null ? null : definitions.get(element);
            out.println(place == null ? "" : place.path + "\t" + place.line);
        }
    }

    static long key(long line, long column) {
        return line << 20 | column;
    }

    /** Notes the definitions and names of a file. */
    static void read(CompilationUnitTree unit, Trees trees, Path root) {
        String path = root.relativize(Path.of(unit.getSourceFile().toUri())).toString().replace('\\', '/');
        Map<Long, Element> here = names.computeIfAbsent(path, p -> new HashMap<>());
        SourcePositions positions = trees.getSourcePositions();
        LineMap lines = unit.getLineMap();
        String text;
        try {
            text = unit.getSourceFile().getCharContent(true).toString();
        } catch (IOException e) {
            return;
        }
        new TreePathScanner<Void, Void>() {
            void define(Tree tree, String name) {
                Element element = trees.getElement(getCurrentPath());
                long start = positions.getStartPosition(unit, tree);
                if (element == null || start < 0) {
                    return;
                }
                long at = nameAt(name.equals("<init>") ? element.getEnclosingElement().getSimpleName().toString() : name, (int) start, tree);
                definitions.putIfAbsent(element, new Place(path, lines.getLineNumber(at < 0 ? start : at)));
            }

            /** Finds the name of a declaration, behind its modifiers and type. */
            long nameAt(String name, int start, Tree tree) {
                int from = start;
                Tree before = tree instanceof MethodTree m ? (m.getReturnType() == null ? m.getModifiers() : m.getReturnType())
                    : tree instanceof VariableTree v ? (v.getType() == null ? v.getModifiers() : v.getType())
                    : tree instanceof ClassTree c ? c.getModifiers() : null;
                if (before != null && positions.getEndPosition(unit, before) > from) {
                    from = (int) positions.getEndPosition(unit, before);
                }
                for (int i = text.indexOf(name, from); i >= 0; i = text.indexOf(name, i + 1)) {
                    boolean word = (i == 0 || !Character.isJavaIdentifierPart(text.charAt(i - 1)))
                        && (i + name.length() >= text.length() || !Character.isJavaIdentifierPart(text.charAt(i + name.length())));
                    if (word) {
                        return i;
                    }
                }
                return -1;
            }

            void use(long at) {
                Element element = trees.getElement(getCurrentPath());
                if (element != null && at >= 0) {
                    here.put(key(lines.getLineNumber(at), columnOf(at)), element);
                }
            }

            long columnOf(long at) {
                int start = text.lastIndexOf('\n', (int) at - 1) + 1;
                return text.codePointCount(start, (int) at) + 1;
            }

            @Override public Void visitClass(ClassTree t, Void v) {
                define(t, t.getSimpleName().toString());
                return super.visitClass(t, v);
            }

            @Override public Void visitMethod(MethodTree t, Void v) {
                define(t, t.getName().toString());
                return super.visitMethod(t, v);
            }

            @Override public Void visitVariable(VariableTree t, Void v) {
                define(t, t.getName().toString());
                return super.visitVariable(t, v);
            }

            @Override public Void visitTypeParameter(TypeParameterTree t, Void v) {
                define(t, t.getName().toString());
                return super.visitTypeParameter(t, v);
            }

            @Override public Void visitIdentifier(IdentifierTree t, Void v) {
                use(positions.getStartPosition(unit, t));
                return super.visitIdentifier(t, v);
            }

            @Override public Void visitMemberSelect(MemberSelectTree t, Void v) {
                long end = positions.getEndPosition(unit, t);
                use(end < 0 ? -1 : end - t.getIdentifier().length());
                return super.visitMemberSelect(t, v);
            }

            @Override public Void visitMemberReference(MemberReferenceTree t, Void v) {
                long end = positions.getEndPosition(unit, t);
                use(end < 0 ? -1 : end - t.getName().length());
                return super.visitMemberReference(t, v);
            }
        }.scan(unit, null);
    }
}
