// A request goes 500 calls deep. All work is done for requests.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
)

var turns, forRequests int

func work(n int) {
	for i := 0; i < n; i++ {
		turns++
	}
}

func down(n int) {
	work(2000)
	if n > 0 {
		down(n - 1)
	}
	turns++
}

func request() { before := turns; down(500); forRequests += turns - before }

func main() {
	f, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(f)
	for n, _ := strconv.Atoi(os.Args[2]); n > 0; n-- {
		request()
	}
	pprof.StopCPUProfile()
	fmt.Printf("%.1f\n", 100*float64(forRequests)/float64(turns))
}
