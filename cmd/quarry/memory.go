package main

import (
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
