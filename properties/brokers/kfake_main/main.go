// A broker of franz-go's kfake on a free port of the loopback interface, until it is killed.
//
// The first argument is a topic that is there from the start; each further one is a setting of the
// broker, NAME=NUMBER.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	configs := make(map[string]string)
	for _, argument := range os.Args[2:] {
		name, value, _ := strings.Cut(argument, "=")
		configs[name] = value
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.Ports(0),
		kfake.SeedTopics(1, os.Args[1]),
		kfake.BrokerConfigs(configs),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("listening on %s\n", cluster.ListenAddrs()[0])
	select {}
}
