package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// memoryInUse is what the kernel counts now, in bytes; the peak is counted anew from here.
func memoryInUse() int64 {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		fmt.Fprintln(os.Stderr, "the peak of memory cannot be reset, and holds what reading took:", err)
	}
	return status("VmRSS:")
}

// peakMemory is the most that it has counted since, in bytes.
func peakMemory() int64 { return status("VmHWM:") }

// status reads a line of /proc/self/status; 0 on systems without it.
func status(name string) int64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var kilobytes int64
		if strings.HasPrefix(lines.Text(), name) {
			fmt.Sscanf(strings.TrimPrefix(lines.Text(), name), "%d", &kilobytes)
			return kilobytes << 10
		}
	}
	return 0
}

// giveUpBeyond ends the program once it uses more memory than it may; some histories would take all that there is.
func giveUpBeyond(most int64, say func()) {
	for range time.Tick(20 * time.Millisecond) {
		if peakMemory() > most {
			say()
			os.Exit(3)
		}
	}
}
