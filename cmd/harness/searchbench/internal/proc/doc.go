// Package proc runs the measured programs and reads their resource usage and that of the
// machine: the speed of memory, the bytes on disk, and whether files are in memory.
//
// It answers: how long did it take, how much memory did it and its children use at most,
// and has it ended? How fast can all cores read and copy memory, as a reference for scans,
// and is this file really cold?
//
// A Process leads its own process group. While it runs, a sampler adds up the resident
// memory of the processes of its tree five times per second: those of the group, and their
// descendants in other groups without the files that they map. The reported peak is the larger of the highest sum and the
// highest VmHWM of a single process, so that a short peak of one process between two
// samples is not missed. Linux only: it reads /proc.
//
// Invariants
//
//  1. Stop ends the group by its number, waits, and kills after a grace period: no process outlives its measurement.
//  2. Output is bounded: the last bytes are kept for error messages.
package proc
