package outline

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkExtract reads the script of each language again and again, so as to
// need no corpus; -outline.corpus LANGUAGE=DIRECTORY reads files instead.
func BenchmarkExtract(b *testing.B) {
	for _, language := range languages {
		text := benchmarkText(b, language)
		if len(text) == 0 {
			continue
		}
		b.Run(string(language), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			symbols, start := 0, cpuSeconds(b)
			for b.Loop() {
				found, err := Extract(language, text, time.Time{})
				if err != nil {
					b.Fatal(err)
				}
				symbols = len(found)
			}
			// Processor time tells more than the clock on a busy machine.
			b.ReportMetric(float64(len(text))*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
			b.ReportMetric(float64(symbols), "symbols")
		})
	}
}

// benchmarkBytes is about the size of a large source file.
const benchmarkBytes = 256 << 10

func benchmarkText(b *testing.B, language code.Language) []byte {
	if *corpusFlag != "" {
		return corpusText(b, language)
	}
	for _, source := range scriptsByLanguage(b)[language] {
		source, _, _ = bytes.Cut(source, []byte("\n__END__")) // of Ruby's: what follows is not read
		return bytes.Repeat(append(source, '\n'), benchmarkBytes/len(source)+1)
	}
	return nil
}

// corpusText returns the files of the corpus given by flag, if it is of the language.
func corpusText(b *testing.B, language code.Language) []byte {
	name, dir, _ := strings.Cut(*corpusFlag, "=")
	if name != string(language) {
		return nil
	}
	var text []byte
	for _, path := range pick(corpus{language: language, dir: dir, files: 1 << 20}) {
		content, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		// A run of one file is what is measured elsewhere: here only the rate.
		if text = append(append(text, content...), '\n'); len(text) > 16<<20 {
			break
		}
	}
	return text
}

// cpuSeconds returns the processor time that this process has used.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
