package diskspace

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// guardMetrics report the space of the disks:
//
//	quarry_server_disk_free_bytes{directory}  for this user
//	quarry_server_disk_size_bytes{directory}
//	quarry_server_disk_low{directory}         1 while the process only reads for lack of space
//	quarry_server_disk_min_free_bytes         storage.minFreeBytes
//	quarry_server_disk_used_bytes{directory}  the size of its files, counted every 10 minutes
type guardMetrics struct {
	free, size, low, used *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer, minFree int64) *guardMetrics {
	f := promauto.With(reg)
	gauge := func(name, help string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: "quarry_server_disk_" + name, Help: help}, []string{"directory"})
	}
	f.NewGauge(prometheus.GaugeOpts{
		Name: "quarry_server_disk_min_free_bytes", Help: "The setting storage.minFreeBytes. Below it, the process is read-only.",
	}).Set(float64(minFree))
	return &guardMetrics{
		free: gauge("free_bytes", "Free bytes on the disk of a directory that this user may use. Directories may share a disk."),
		size: gauge("size_bytes", "Size of the disk of a directory."),
		used: gauge("used_bytes", "Disk space used by the files of a directory, as reported by du, measured every ten minutes. data includes its subdirectories."),
		low:  gauge("low", "1 while the disk of a directory has less than storage.minFreeBytes, or 1,000 files, left."),
	}
}
