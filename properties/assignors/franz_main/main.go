// The assignors of franz-go: it reads a JSON message per line, and answers each with a line.
//
// docs/assignors.md has the messages. It balances a group as a leader that uses kgo does, in
// balanceGroup of group_balancer.go. Racks change nothing: kgo uses them only with the option
// BalanceRacks, in a client that knows the brokers.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	names     = []string{"range", "roundrobin", "sticky", "cooperative-sticky"}
	balancers = map[string]func() kgo.GroupBalancer{
		"range":              kgo.RangeBalancer,
		"roundrobin":         kgo.RoundRobinBalancer,
		"sticky":             kgo.StickyBalancer,
		"cooperative-sticky": kgo.CooperativeStickyBalancer,
	}
)

type message struct {
	Type     string                `json:"type"`
	Assignor string                `json:"assignor"`
	Topics   map[string][][]string `json:"topics"` // the racks of each partition
	Members  []struct {
		ID         string  `json:"memberId"`
		InstanceID *string `json:"groupInstanceId"`
		Metadata   []byte  `json:"metadata"`
	} `json:"members"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var m message
		err := in.Decode(&m)
		if err == nil {
			err = out.Encode(answer(m))
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func answer(m message) map[string]any {
	switch m.Type {
	case "open":
		return map[string]any{"name": "franz-go", "version": version(), "assignors": names}
	case "assign":
		assignment, err := assign(m)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"assignment": assignment}
	default:
		return map[string]any{"error": fmt.Sprintf("unknown type %q", m.Type)}
	}
}

// version returns the version of franz-go in this program.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/twmb/franz-go" {
			return module.Version
		}
	}
	return "unknown"
}

// assign returns the assignment of each member in bytes.
func assign(m message) (assignment map[string][]byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	create, known := balancers[m.Assignor]
	if !known {
		return nil, fmt.Errorf("unknown assignor %q", m.Assignor)
	}
	balancer, topics, err := create().MemberBalancer(members(m))
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int32)
	for topic := range topics {
		if partitions, exists := m.Topics[topic]; exists {
			counts[topic] = int32(len(partitions))
		}
	}
	plan, err := balance(balancer, counts)
	if err != nil {
		return nil, err
	}
	assignment = make(map[string][]byte)
	for _, each := range plan.IntoSyncAssignment() {
		assignment[each.MemberID] = each.MemberAssignment
	}
	return assignment, nil
}

// members returns the members of a message in the order that balancers require.
func members(m message) []kmsg.JoinGroupResponseMember {
	members := make([]kmsg.JoinGroupResponseMember, 0, len(m.Members))
	for _, each := range m.Members {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID = each.ID
		member.InstanceID = each.InstanceID
		member.ProtocolMetadata = each.Metadata
		members = append(members, member)
	}
	sort.Slice(members, func(i, j int) bool { return less(members[i], members[j]) })
	return members
}

// less is kgo's joinMemberLess: members with an instance id come first.
func less(l, r kmsg.JoinGroupResponseMember) bool {
	switch {
	case l.InstanceID != nil && r.InstanceID != nil:
		return *l.InstanceID < *r.InstanceID
	case l.InstanceID == nil && r.InstanceID == nil:
		return l.MemberID < r.MemberID
	default:
		return l.InstanceID != nil
	}
}

func balance(b kgo.GroupMemberBalancer, counts map[string]int32) (kgo.IntoSyncAssignment, error) {
	canFail, ok := b.(kgo.GroupMemberBalancerOrError)
	if !ok {
		return b.Balance(counts), nil
	}
	return canFail.BalanceOrError(counts)
}
