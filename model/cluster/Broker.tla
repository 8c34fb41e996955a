------------------------------- MODULE Broker -------------------------------
(* What a broker does besides being the controller: it starts and ends,        *)
(* handles the requests of controllers, and coordinates groups. Nodes explains *)
(* the comments that cite lines.                                               *)
EXTENDS Controller

-----------------------------------------------------------------------------
\* The coordinator of groups: tasks of its one thread.

\* GC:910. A load that has not ended is not scheduled again.
OnElection(s, b) ==
  IF s.brokers[b].coordinator.loading THEN Apply(s, "coordinator/already-loading")
  ELSE [Apply(s, "coordinator/elected") EXCEPT !.brokers[b].coordinator =
          [@ EXCEPT !.loading = TRUE, !.tasks = Append(@, "load")]]

\* GC:919
OnResignation(s, b) ==
  [Apply(s, "coordinator/resigned") EXCEPT !.brokers[b].coordinator.tasks = Append(@, "unload")]

Leads(s, b, t) == s.brokers[b].replicas[t].role = "leader"

\* It leads the groups, and no other broker is elected: what it appends stays.
IsCurrent(s, b) ==
  LET p == s.nodes.partitions[GroupTopic]
  IN Leads(s, b, GroupTopic) /\ p # None /\ p.leader = b

\* GC:834. The coordinator forgets offsets of a deleted topic, and appends tombstones if it can.
HandleDeletedPartition(s, b) ==
  IF ~s.brokers[b].coordinator.offset THEN Apply(s, "offsets/none")
  ELSE LET t == [s EXCEPT !.brokers[b].coordinator.offset = FALSE]
       IN IF IsCurrent(s, b) THEN [Apply(t, "offsets/deleted") EXCEPT !.offset = FALSE]
          ELSE Apply(t, "offsets/forgotten")

\* A load reads the log, if the broker still leads it. It does not replace groups that it has.
DoTask(s, b) ==
  LET c     == s.brokers[b].coordinator
      known == IF c.owns THEN c.offset ELSE s.offset /\ Leads(s, b, GroupTopic)
  IN IF Head(c.tasks) = "load"
     THEN [Apply(s, "coordinator/loaded") EXCEPT !.brokers[b].coordinator =
             [tasks |-> Tail(c.tasks), loading |-> FALSE, owns |-> TRUE, offset |-> known]]
     ELSE [Apply(s, "coordinator/unloaded") EXCEPT !.brokers[b].coordinator =
             [@ EXCEPT !.tasks = Tail(@), !.owns = FALSE, !.offset = FALSE]]

-----------------------------------------------------------------------------
\* Requests of a controller.

\* RM:1352 about one topic. The present leader epoch wins.
BecomeLeaderOrFollower(s, b, x) ==
  LET t == x.topic
      r == s.brokers[b].replicas[t]
      became == [log |-> TRUE, role |-> IF x.leader = b THEN "leader" ELSE "follower",
                 leaderEpoch |-> x.leaderEpoch, isr |-> IF x.leader = b THEN x.isr ELSE <<>>,
                 version |-> x.version, pending |-> FALSE,
                 assigned |-> IF x.leader = b THEN x.replicas ELSE <<>>,
                 controllerEpoch |-> IF x.leader = b THEN x.controllerEpoch ELSE 0]
      rule == IF x.leader = b THEN "leader-and-isr/leader" ELSE "leader-and-isr/follower"
      u == [Apply(s, rule) EXCEPT !.brokers[b].replicas[t] = became]
      coordinates == Groups /\ t = GroupTopic
  IN IF x.leaderEpoch =< r.leaderEpoch THEN Apply(s, "leader-and-isr/old")             \* RM:1379
     ELSE IF x.leader = NoLeader                                                       \* RM:1626
     THEN [Apply(s, "leader-and-isr/no-leader") EXCEPT !.brokers[b].replicas[t].log = TRUE]
     ELSE IF ~coordinates \/ (x.leader = b /\ r.role = "leader") THEN u                 \* PA:607
     ELSE IF x.leader = b THEN OnElection(u, b)                                         \* KA:225
     ELSE OnResignation(u, b)                                                           \* KA:232

\* RM:418: whether the broker stops a replica, or answers FENCED_LEADER_EPOCH.
Stops(s, b, x) == \/ x.leaderEpoch \in {DuringDelete, NoEpoch}
                  \/ x.leaderEpoch > s.brokers[b].replicas[x.topic].leaderEpoch

\* RM:376 about one topic
StopReplica(s, b, x) ==
  LET t == x.topic
      r == s.brokers[b].replicas[t]
      deleted == [Apply(s, "stop-replica/deleted") EXCEPT !.brokers[b].replicas[t] = NoReplica]
  IN IF ~Stops(s, b, x) THEN Apply(s, "stop-replica/fenced")
     ELSE IF ~x.delete                                                                  \* RM:454
     THEN IF r.role # "follower" THEN Apply(s, "stop-replica/nothing")
          ELSE [Apply(s, "stop-replica/stopped") EXCEPT
                  !.brokers[b].replicas[t].role = "stopped"]
     ELSE IF Groups /\ t = GroupTopic THEN OnResignation(deleted, b)                    \* KA:278
     ELSE deleted                                                                       \* RM:462

\* MC:333 about one topic
UpdateMetadata(s, b, x) ==
  IF x.leader # DuringDelete
  THEN [Apply(s, "update-metadata/leader") EXCEPT !.brokers[b].leaders[x.topic] = x.leader]
  ELSE LET u == [Apply(s, "update-metadata/deleted") EXCEPT !.brokers[b].leaders[x.topic] = 0]
       IN IF x.topic = OtherTopic THEN HandleDeletedPartition(u, b) ELSE u              \* KA:322

\* A request for an earlier registration, KA:3362, or of an earlier controller, RM:1335.
IsForEarlier(s, request) == request.brokerEpoch < s.brokers[request.broker].epoch
IsStale(s, request) ==
  \/ IsForEarlier(s, request)
  \/ request.controllerEpoch < s.brokers[request.broker].controllerEpoch

HandleRequest(s, request) ==
  LET b == request.broker
      t == [Apply(s, "request/handled") EXCEPT
              !.brokers[b].controllerEpoch = request.controllerEpoch]
      says(u, x) == CASE request.api = "LeaderAndIsr"   -> BecomeLeaderOrFollower(u, b, x)
                      [] request.api = "StopReplica"    -> StopReplica(u, b, x)
                      [] request.api = "UpdateMetadata" -> UpdateMetadata(u, b, x)
  IN IF IsForEarlier(s, request) THEN Apply(s, "request/stale-broker")
     ELSE IF IsStale(s, request) THEN Apply(s, "request/stale-controller")
     ELSE Fold(says, t, request.topics)

\* The controller of the step has sent the request. It puts an event about the replicas that it
\* deletes. CCM:557
Deliver(s, b) ==
  LET request == Head(Context(s).channels[b])
      t == [s EXCEPT !.brokers[s.self].controller.channels[b] = Tail(@)]
      u == HandleRequest(t, request)
      deleted == SelectSeq(request.topics, LAMBDA x : /\ x.delete /\ Stops(t, b, x)
                                                      /\ Known(t, x.topic).started)
      event == [Event("TopicDeletionStopReplicaResponseReceived") EXCEPT
                  !.broker = b, !.topics = [i \in DOMAIN deleted |-> deleted[i].topic]]
  IN IF request.api # "StopReplica" \/ IsStale(t, request) \/ deleted = <<>> THEN u    \* CCM:568
     ELSE Enqueue(u, s.self, event)

-----------------------------------------------------------------------------
\* A broker starts, is killed, or gets a new session.

\* While the session of a killed predecessor lives, a broker cannot start: its id is taken. ZK:1801
Start(s, b) ==
  RegisterBroker([Apply(s, "session/start") EXCEPT
                           !.brokers[b].running = TRUE, !.brokers[b].session = "live",
                           !.brokers[b].queue = <<Event("Startup")>>], b)

\* The logs of its replicas are on disk. A leader that waits for an answer to AlterIsr sends it again.
Kill(s, b) ==
  LET t == CloseChannels(Drop(Apply(s, "environment/kill"), s.brokers[b].queue))
  IN [t EXCEPT !.brokers[b] =
        [NoBroker EXCEPT !.session = IF s.brokers[b].session = "live" THEN "live" ELSE "none",
                         !.replicas = [n \in Numbers |->
                                         [NoReplica EXCEPT !.log = s.brokers[b].replicas[n].log]]]]

\* A broker learns that its session has ended. KC:168, EM:106
Renew(s, b) ==
  LET t == Drop(Apply(s, "session/ended"), s.brokers[b].queue)
  IN [t EXCEPT !.brokers[b].session = "none", !.brokers[b].queue = <<Event("Expire")>>]

\* A leader asks the controller for an ISR. PA:1392
SendAlterIsr(s, b, t, isr) ==
  LET r == s.brokers[b].replicas[t]
      event == [Event("AlterIsrReceived") EXCEPT
                  !.broker = b, !.epoch = s.brokers[b].epoch, !.topics = <<t>>,
                  !.partition = Partition(b, r.leaderEpoch, isr, 0, r.version)]
  IN Enqueue([s EXCEPT !.brokers[b].replicas[t].pending = TRUE], s.nodes.controller, event)

\* A leader writes an ISR, if the node has the version that it knows, and reads the node if it has
\* another one. 2.4.1 PA:1172, 1178, RU:40
WriteIsr(s, b, t, isr) ==
  LET r == s.brokers[b].replicas[t]
      p == s.nodes.partitions[t]
      changed == {n \in Numbers : n = t \/ Has(s.brokers[b].changed, n)}
  IN IF p = None THEN Apply(s, "isr/version")
     ELSE IF p.version # r.version THEN WatchState(Apply(s, "isr/version"), t)
     ELSE StateChanged([Apply(s, "isr/written") EXCEPT
                          !.nodes.partitions[t] = Partition(b, r.leaderEpoch, isr,
                                                            r.controllerEpoch, r.version + 1),
                          !.brokers[b].replicas[t] = [@ EXCEPT !.isr = isr, !.version = @ + 1],
                          !.brokers[b].changed = Ascending(changed)], t)

ChangeIsr(s, b, t, isr) == IF WritesIsr THEN WriteIsr(s, b, t, isr) ELSE SendAlterIsr(s, b, t, isr)

\* 2.4.1 RM:294
PropagateIsrChanges(s, b) ==
  AnnouncedChanged([Apply(s, "environment/announce") EXCEPT
                      !.nodes.announced = Append(@, s.brokers[b].changed),
                      !.brokers[b].changed = <<>>])

=============================================================================
