package outline

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// BenchmarkExtract reads the script of each language repeatedly, so that it needs no
// corpus. -outline.corpus LANGUAGE=DIRECTORY reads files instead.
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
			// Processor time is more reliable than elapsed time on a busy machine.
			b.ReportMetric(float64(len(text))*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
			b.ReportMetric(float64(symbols), "symbols")
		})
	}
}

// benchmarkBytes is the approximate size of a large source file.
const benchmarkBytes = 256 << 10

func benchmarkText(b *testing.B, language code.Language) []byte {
	if *corpusFlag != "" {
		return corpusText(b, language)
	}
	for _, source := range scriptsByLanguage(b)[language] {
		source, _, _ = bytes.Cut(source, []byte("\n__END__")) // in Ruby: the parser does not read the rest
		return bytes.Repeat(append(source, '\n'), benchmarkBytes/len(source)+1)
	}
	return nil
}

// corpusText returns the files in the language from the corpus given by the flag.
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
		// Single files are measured elsewhere; this reports only the rate.
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

// BenchmarkMixed reads the sources of all languages, the same amount of each, one after
// another: those of -outline.corpora, or the scripts.
func BenchmarkMixed(b *testing.B) {
	type source struct {
		language code.Language
		files    [][]byte
	}
	var sources []source
	size := 0
	for _, language := range languages {
		in := source{language: language}
		if *corporaFlag == "" {
			if text := benchmarkText(b, language); text != nil {
				in.files = [][]byte{text}
			}
		} else {
			dir := filepath.Join(*corporaFlag, strings.ReplaceAll(string(language), " ", "_"))
			total := 0
			for _, path := range pick(corpus{language: language, dir: dir, files: 2000}) {
				if text, err := os.ReadFile(path); err == nil && total < 4<<20 {
					in.files = append(in.files, text)
					total += len(text)
				}
			}
		}
		for _, text := range in.files {
			size += len(text)
		}
		sources = append(sources, in)
	}
	b.SetBytes(int64(size))
	spent := map[code.Language]float64{}
	start := cpuSeconds(b)
	for b.Loop() {
		for _, in := range sources {
			began := cpuSeconds(b)
			for _, text := range in.files {
				if _, err := Extract(in.language, text, time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
			spent[in.language] += cpuSeconds(b) - began
		}
	}
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
	for _, in := range sources {
		bytes := 0
		for _, text := range in.files {
			bytes += len(text)
		}
		if bytes > 0 {
			fmt.Printf("%-20s %5.1f MB %6.0f MB/cpu-s\n", in.language, float64(bytes)/1e6, float64(bytes)*float64(b.N)/1e6/spent[in.language])
		}
	}
}
