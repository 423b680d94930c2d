package main

import (
	"log/slog"
	"runtime"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// memoryLimit returns the memory that the process may use on this machine and in its
// control group.
func memoryLimit(c *config.Config, environ []string) config.MemoryLimit {
	machine, _ := boot.MemoryOfMachine() // an unknown size is 0
	return c.LimitMemory(machine.Total, machine.Limit, machine.LimitFile, environ, runtime.GOMAXPROCS(0))
}

// fitMemory sets the memory settings that are 0.
func fitMemory(c *config.Config, environ []string) {
	c.FitMemory(memoryLimit(c, environ).TotalBytes, runtime.GOMAXPROCS(0))
}

// logMemory logs the memory limit, its source, and the resulting settings.
func logMemory(c *config.Config, environ []string, logger *slog.Logger) {
	limit := memoryLimit(c, environ)
	logger.Info("memory limits", c.MemoryAttributes(limit)...)
	if warning := c.CheckPlan(limit); warning != "" {
		logger.Warn(warning)
	}
}
