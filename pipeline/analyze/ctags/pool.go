package ctags

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrTimeout means that the time for a file expired. The symbols found until then are
// returned.
var ErrTimeout = errors.New("ctags: the time for symbols is used up")

// ErrLimit means that a file or the output of ctags for it is too large. The symbols found
// until then are returned.
var ErrLimit = errors.New("ctags: the text or its symbols exceed a limit")

// ErrFailed means that ctags died while reading a file or cannot be started.
var ErrFailed = errors.New("ctags failed")

// errClosed means that the Pool is closed.
var errClosed = errors.New("the server stops")

// Bounds for one file, in addition to its time.
const (
	maxTextBytes = 8 << 20
	// maxCrashes is the number of processes that may die while reading one file.
	maxCrashes = 2
)

// If a process does not start, another attempt follows after 50 ms, 100 ms and so on. After
// startAttempts, files are indexed without symbols for startPause, so that a broken program
// does not stall indexing.
const (
	startAttempts   = 5
	firstStartPause = 50 * time.Millisecond
	startPause      = time.Minute
)

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = 5 * time.Second

// Options configures a Pool. Program, Metrics and Logger are required.
type Options struct {
	// Program is the absolute path of universal-ctags.
	Program string
	// TempDir is the parent of the empty working directory. Default: the system's directory
	// for temporary files.
	TempDir string
	// Processes bounds the number of processes. Default: GOMAXPROCS.
	Processes int
	// Timeout bounds the time for one file.
	Timeout time.Duration
	Metrics *Metrics
	Logger  *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Processes <= 0 {
		o.Processes = runtime.GOMAXPROCS(0)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	return o
}

// Pool reads files with ctags processes. The caller must close it.
type Pool struct {
	o         Options
	directory string
	languages languageSet
	kinds     kindSet
	slots     chan *slot
	ctx       context.Context
	cancel    context.CancelFunc
}

// slot holds at most one process.
type slot struct {
	process *process // nil while there is none
	// pausedUntil is the time of the next attempt to start a process after startAttempts
	// failed.
	pausedUntil time.Time
}

// Open checks the program and returns a Pool. It starts a process to verify that the sandbox
// works on this machine.
func Open(ctx context.Context, o Options) (*Pool, error) {
	o = o.withDefaults()
	languages, kinds, err := examineProgram(ctx, o.Program)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp(o.TempDir, "ctags-")
	if err != nil {
		return nil, fmt.Errorf("directory for ctags: %w", err)
	}
	p := &Pool{o: o, directory: directory, languages: languages, kinds: kinds, slots: make(chan *slot, o.Processes)}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	first, err := p.startProcess()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s does not run in its sandbox; install another build, or leave the setting empty: %w", ErrFailed, o.Program, err), os.RemoveAll(directory))
	}
	p.slots <- &slot{process: first}
	for range o.Processes - 1 {
		p.slots <- &slot{}
	}
	return p, nil
}

// Close waits for the files being read, then stops the processes.
func (p *Pool) Close() error {
	p.cancel()
	for range cap(p.slots) {
		if s := <-p.slots; s.process != nil {
			s.process.kill()
		}
	}
	return os.RemoveAll(p.directory)
}

// Supports reports whether ctags reads the language.
func (p *Pool) Supports(language code.Language) bool {
	_, ok := p.languages[language]
	return ok
}

// FindSymbols returns the symbols that text defines, ordered by Offset. With an error that
// wraps ErrTimeout or ErrLimit, it returns the symbols found so far; with ErrFailed, none.
func (p *Pool) FindSymbols(language code.Language, text []byte) ([]code.Symbol, error) {
	if len(text) == 0 || !p.Supports(language) {
		return nil, nil
	}
	tags, err := p.readTags(p.languages[language], text)
	p.o.Metrics.files.WithLabelValues(resultOf(err, resultFailed)).Inc()
	return placeTags(text, tags, p.kinds), err
}

// readTags passes the text to a process, after waiting for a free one.
func (p *Pool) readTags(ctagsLanguage string, text []byte) ([]tag, error) {
	if len(text) > maxTextBytes {
		return nil, ErrLimit
	}
	var s *slot
	select {
	case s = <-p.slots:
	case <-p.ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrFailed, errClosed)
	}
	defer func() { p.slots <- s }()
	for crashes := 1; ; crashes++ {
		if err := p.ensureProcess(s); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFailed, err)
		}
		tags, err := s.process.readTags(fileName(ctagsLanguage), text, p.o.Timeout)
		if err == nil {
			return tags, nil
		}
		s.process.kill()
		s.process = nil
		p.o.Metrics.restarts.WithLabelValues(resultOf(err, reasonCrash)).Inc()
		if errors.Is(err, ErrTimeout) || errors.Is(err, ErrLimit) {
			return tags, err
		}
		p.o.Logger.Warn("ctags exited; restarting it", "language", ctagsLanguage, "attempt", crashes, "error", err)
		if crashes == maxCrashes {
			return nil, fmt.Errorf("%w: %d processes died of the file: %w", ErrFailed, crashes, err)
		}
	}
}

// ensureProcess starts the process of the slot unless it is running.
func (p *Pool) ensureProcess(s *slot) error {
	if s.process != nil {
		return nil
	}
	if time.Now().Before(s.pausedUntil) {
		return errors.New("it could not be started a moment ago")
	}
	pause := firstStartPause
	for attempt := 1; ; attempt++ {
		if p.ctx.Err() != nil {
			return errClosed
		}
		process, err := p.startProcess()
		if err == nil {
			s.process = process
			return nil
		}
		if attempt == startAttempts {
			s.pausedUntil = time.Now().Add(startPause)
			p.o.Logger.Error("ctags does not start; files of its languages have no symbols until it does", "program", p.o.Program, "retry_after", startPause, "error", err)
			return fmt.Errorf("start it: %w", err)
		}
		if clock.Sleep(p.ctx, pause) != nil {
			return errClosed
		}
		pause *= 2
	}
}

// startProcess starts a process in the empty directory. It recreates the directory if a
// cleanup of temporary files removed it.
func (p *Pool) startProcess() (*process, error) {
	if err := os.MkdirAll(p.directory, 0o700); err != nil {
		return nil, err
	}
	return startProcess(p.o.Program, p.directory, p.languages)
}
