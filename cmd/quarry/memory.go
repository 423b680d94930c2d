package main

import (
	"log/slog"
	"runtime"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// memoryLimit returns what the process may take on this machine and in its control
// group.
func memoryLimit(c *config.Config, environ []string) config.MemoryLimit {
	machine, _ := boot.MemoryOfMachine() // what is not known is 0
	return c.LimitMemory(machine.Total, machine.Limit, machine.LimitFile, environ, runtime.GOMAXPROCS(0))
}

// fitMemory gives the settings of memory that are 0 their values.
func fitMemory(c *config.Config, environ []string) {
	c.FitMemory(memoryLimit(c, environ).TotalBytes, runtime.GOMAXPROCS(0))
}

// logMemory says which limit was found, where, and what each bound became.
func logMemory(c *config.Config, environ []string, logger *slog.Logger) {
	limit := memoryLimit(c, environ)
	logger.Info("memory limits", c.MemoryAttributes(limit)...)
	if warning := c.CheckPlan(limit); warning != "" {
		logger.Warn(warning)
	}
}
