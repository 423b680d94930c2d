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

// ErrTimeout says that the time for a file passed; the symbols are those found until then.
var ErrTimeout = errors.New("ctags: the time for symbols is used up")

// ErrLimit says that a file or what ctags says of it is too large; the symbols are those
// found until then.
var ErrLimit = errors.New("ctags: the text or its symbols exceed a limit")

// ErrFailed says that ctags died while reading a file, or cannot be started.
var ErrFailed = errors.New("ctags failed")

// errClosed says that the Pool is closed.
var errClosed = errors.New("the server stops")

// Bounds of one file, besides its time.
const (
	maxTextBytes = 8 << 20
	// maxCrashes is how many processes may die of one file.
	maxCrashes = 2
)

// A process that does not start is tried again after 50 ms, 100 ms and so on. Then files
// go on without symbols for a while, so that a broken program does not stall indexing.
const (
	startAttempts   = 5
	firstStartPause = 50 * time.Millisecond
	startPause      = time.Minute
)

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = 5 * time.Second

// Options configure a Pool. Program, Metrics and Logger are required.
type Options struct {
	// Program is the absolute path of universal-ctags.
	Program string
	// TempDir is where the empty working directory is made. Default: that of the system.
	TempDir string
	// Processes bounds the processes. Default: one per processor that Go uses.
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

// Pool reads files with processes of ctags. Close stops them.
type Pool struct {
	o         Options
	directory string
	languages languageSet
	kinds     kindSet
	slots     chan *slot
	ctx       context.Context
	cancel    context.CancelFunc
}

// slot is the place of one process.
type slot struct {
	process *process // nil while there is none
	// pausedUntil is when a process is started again after startAttempts failed.
	pausedUntil time.Time
}

// Open returns a Pool if the program can do what the Pool needs. It starts a process to
// see that the sandbox works on this machine.
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

// Close stops the processes once the files that they read are done.
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

// FindSymbols returns the symbols that text defines, in order of Offset. The error wraps
// ErrTimeout or ErrLimit, and then there are some; or ErrFailed, and then there are none.
func (p *Pool) FindSymbols(language code.Language, text []byte) ([]code.Symbol, error) {
	if len(text) == 0 || !p.Supports(language) {
		return nil, nil
	}
	tags, err := p.readTags(p.languages[language], text)
	p.o.Metrics.countFile(err)
	return placeTags(text, tags, p.kinds), err
}

// readTags has a process read the text.
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
		p.o.Metrics.countRestart(err)
		if errors.Is(err, ErrTimeout) || errors.Is(err, ErrLimit) {
			return tags, err
		}
		p.o.Logger.Warn("ctags exited; restarting it", "language", ctagsLanguage, "attempt", crashes, "error", err)
		if crashes == maxCrashes {
			return nil, fmt.Errorf("%w: %d processes died of the file: %w", ErrFailed, crashes, err)
		}
	}
}

// ensureProcess starts the process of the slot unless it runs.
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

// startProcess starts a process in the empty directory, which is made again if it was
// removed with the temporary files.
func (p *Pool) startProcess() (*process, error) {
	if err := os.MkdirAll(p.directory, 0o700); err != nil {
		return nil, err
	}
	return startProcess(p.o.Program, p.directory, p.languages)
}
