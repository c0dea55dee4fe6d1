// porcupine: a second opinion on histories of one log, from the library of that name (bench/porcupine.py).
//
// In     histories on stdin, one operation per line (read.go)
// Out    per history its name and valid, invalid or unknown; then "peak", the bytes that judging added, and its seconds
// Keeps  a history that takes too long is unknown; one that takes too much memory ends the program, with "memory" for "peak"
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/anishathalye/porcupine"
)

var verdicts = map[porcupine.CheckResult]string{
	porcupine.Ok:      "valid",
	porcupine.Illegal: "invalid",
	porcupine.Unknown: "unknown",
}

func main() {
	patience := flag.Duration("patience", time.Minute, "for one history")
	memory := flag.Int64("memory", 8<<30, "bytes that this process may use")
	flag.Parse()
	histories, err := readHistories(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	runtime.GC()
	debug.FreeOSMemory()
	before, began := memoryInUse(), time.Now()
	end := func(word string) {
		fmt.Println(word, peakMemory()-before, time.Since(began).Seconds())
	}
	debug.SetMemoryLimit(*memory * 9 / 10) // collect harder before giving up
	go giveUpBeyond(*memory, func() { end("memory") })
	for _, each := range histories {
		fmt.Println(each.name, verdicts[porcupine.CheckOperationsTimeout(modelFor(each), each.operations, *patience)])
	}
	end("peak")
}

// modelFor chooses the deterministic log, where everything that was asked is known to have happened.
func modelFor(one history) porcupine.Model {
	if one.uncertain {
		uncertain := uncertainLog()
		return uncertain.ToModel()
	}
	return certainLog()
}
