----------------------------- MODULE Controller -----------------------------
(* The controller of a broker: elections, and the events in its queue. Nodes   *)
(* explains the comments that cite lines.                                      *)
EXTENDS Reassignment

-----------------------------------------------------------------------------
\* AlterIsr. The leader handles the answer at once.

\* PA:1422. After these errors of a partition the leader waits for the next LeaderAndIsr. After
\* another, it would send the request again, PA:1444, but the queue of AlterIsrManager still has the
\* present one. After an error of the whole request, AlterIsrManager sends it again.
GivesUp == {"UNKNOWN_TOPIC_OR_PARTITION", "FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION",
            "UNKNOWN_SERVER_ERROR of the partition"}

AlterIsrAnswer(error, isr, version) == [error |-> error, isr |-> isr, version |-> version]
AlterIsrError(error) == AlterIsrAnswer(error, <<>>, 0)
PartitionError == AlterIsrError("UNKNOWN_SERVER_ERROR of the partition")

AnswerAlterIsr(s, event, answer) ==
  LET b      == event.broker
      t      == event.topics[1]
      leader == s.brokers[b]
      r      == leader.replicas[t]
  IN IF \/ ~leader.running
        \/ r.role # "leader" \/ ~r.pending
        \/ r.leaderEpoch # event.partition.leaderEpoch                                 \* PA:1424
     THEN s
     ELSE IF answer.error \in GivesUp THEN s                                           \* PA:1436
     ELSE IF answer.error # "NONE"
     THEN [s EXCEPT !.brokers[b].replicas[t].pending = FALSE]
     ELSE IF answer.version < r.version THEN s                                         \* PA:1451
     ELSE [s EXCEPT !.brokers[b].replicas[t] =
             [@ EXCEPT !.isr = answer.isr, !.version = answer.version, !.pending = FALSE]]

\* Events that leave a queue unprocessed. EM:106, KC:2731
Drop(s, events) ==
  LET drop(u, event) ==
        IF event.name = "AlterIsrReceived"
        THEN AnswerAlterIsr(u, event, AlterIsrError("NOT_CONTROLLER")) ELSE u
  IN Fold(drop, s, events)

\* KC:2251
ProcessAlterIsr(s, event) ==
  LET t     == event.topics[1]
      asked == event.partition
      copy  == Known(s, t).leadership
      node  == s.nodes.partitions[t]
      same  == /\ asked.leader = copy.leader /\ asked.leaderEpoch = copy.leaderEpoch
               /\ asked.isr = copy.isr
      answered(u, answer) ==
        AnswerAlterIsr(SendUpdateMetadata(u, LiveIds(u), {t}), event, answer)          \* KC:2330
      refused(rule, error) == AnswerAlterIsr(Apply(s, rule), event, AlterIsrError(error))
      written == LET u == WritePartition(Apply(s, "alter-isr/written"), t, asked.leader,
                                         asked.leaderEpoch, asked.isr)
                 IN PutLeadership(u, t, u.nodes.partitions[t])                         \* KC:2329
  IN IF Context(s) = None
     THEN refused("alter-isr/not-controller", "NOT_CONTROLLER")                        \* KC:2256
     ELSE IF Context(s).live[event.broker] # event.epoch                               \* KC:2262
     THEN refused("alter-isr/stale-broker", "STALE_BROKER_EPOCH")
     ELSE IF copy = None                                                               \* KC:2294
     THEN answered(Apply(s, "alter-isr/unknown"), AlterIsrError("UNKNOWN_TOPIC_OR_PARTITION"))
     ELSE IF asked.leaderEpoch < copy.leaderEpoch                                      \* KC:2283
     THEN answered(Apply(s, "alter-isr/fenced"), AlterIsrError("FENCED_LEADER_EPOCH"))
     ELSE IF same                                                                      \* KC:2286
     THEN MaybeComplete(answered(Apply(s, "alter-isr/desired"),
                                 AlterIsrAnswer("NONE", copy.isr, copy.version)), t)
     ELSE IF IsExpired(s)                                                               \* ZK:262
     THEN answered(Apply(s, "alter-isr/session-ended"), PartitionError)
     ELSE IF Fenced(s)                                                                 \* KC:2334
     THEN refused("alter-isr/moved", "UNKNOWN_SERVER_ERROR")
     ELSE IF node = None                                                               \* KC:2314
     THEN answered(Apply(s, "alter-isr/version"), PartitionError)
     ELSE IF node.version # asked.version                                              \* KC:2321
     THEN answered(Apply(s, "alter-isr/version"), AlterIsrError("INVALID_UPDATE_VERSION"))
     ELSE MaybeComplete(answered(written, AlterIsrAnswer("NONE", asked.isr, node.version + 1)),
                        t)                                                              \* KC:2348

-----------------------------------------------------------------------------
\* Elections of a controller.

\* The request that a thread is sending when its connection is closed. CCM:188, 325
CloseChannel(s, b) ==
  LET channel == Context(s).channels[b]
      t == IF channel = <<>> THEN s ELSE Orphan(s, Head(channel))
  IN [t EXCEPT !.brokers[s.self].controller.channels[b] = <<>>, !.connected = @ \ {b}]

CloseChannels(s) == IF Context(s) = None THEN s ELSE Fold(CloseChannel, s, Ascending(Ids))

\* KC:449
Resign(s) == [CloseChannels(s) EXCEPT !.brokers[s.self].controller = None]

\* KC:1484
MaybeResign(s) ==
  LET t == [s EXCEPT !.brokers[s.self].watchesController = TRUE]
  IN IF Context(s) # None /\ s.nodes.controller # s.self                               \* KC:1488
     THEN Resign(Apply(t, "election/resign"))
     ELSE Apply(t, "election/no-change")

\* KC:1493. The broker reads that there is no controller, and the epoch. It claims /controller next.
Elect(s) ==
  IF s.nodes.controller # NoId THEN Apply(s, "election/known")                       \* KC:1500
  ELSE [Apply(s, "election/read") EXCEPT
          !.brokers[s.self].claiming = s.nodes.controllerEpoch]                         \* ZK:112

\* KC:895: what ZooKeeper has. The channels have no requests yet.
InitializeControllerContext(s, epoch) ==
  LET topic(t) ==
        IF ~s.nodes.topics[t] THEN NoTopicState
        ELSE LET a == s.nodes.assignments[t]
             IN [NoTopicState EXCEPT !.known = TRUE, !.assigned = a.replicas,
                                     !.adding = a.adding, !.removing = a.removing,
                                     !.reassigned = IsMoving(a),                       \* KC:910
                                     !.leadership = s.nodes.partitions[t]]
  IN [s EXCEPT !.connected = {b \in Ids : s.nodes.brokers[b] # 0},
               !.brokers[s.self].controller =
                 [epoch |-> epoch, live |-> s.nodes.brokers,
                  topics |-> [t \in Numbers |-> topic(t)],
                  channels |-> [b \in Ids |-> <<>>],
                  watchesBrokers |-> TRUE, watchesTopics |-> TRUE, watchesDeletions |-> TRUE,
                  watchesIsr |-> TRUE]]

\* KC:229
OnControllerFailover(s, epoch) ==
  LET u == InitializeControllerContext(s, epoch)
      t == InitDeletions(IF WritesIsr THEN DeleteIsrChangeNotifications(u) ELSE u)  \* 2.4.1 KC:290
  IN ResumeDeletions(ResumeReassignments(StartPartitions(StartReplicas(t)),
                                         LAMBDA a : TRUE))                             \* KC:265

\* An exception other than ControllerMovedException ends the failover. It reads /controller, which
\* sets the watch. KC:1467
TriggerControllerMove(s) ==
  DeleteController([Resign(Apply(s, "election/failed")) EXCEPT
                      !.thrown = "nothing", !.brokers[s.self].watchesController = TRUE])

\* Create /controller and raise /controller_epoch at once, if no other broker has. ZK:107
Claim(s) ==
  LET claimed == Me(s).claiming
      t == [s EXCEPT !.brokers[s.self].claiming = NoEpoch]
      u == FireController([Apply(t, "election/won") EXCEPT
                                    !.nodes.controller = s.self,
                                    !.nodes.controllerEpoch = claimed + 1], "ControllerChange")
  IN IF Me(s).session # "live" THEN Apply(t, "election/session-ended")                 \* KC:1523
     ELSE IF s.nodes.controller # NoId \/ s.nodes.controllerEpoch # claimed           \* ZK:130
     THEN MaybeResign(Apply(t, "election/lost"))                                       \* KC:1517
     ELSE LET v == OnControllerFailover(u, claimed + 1)                                \* KC:1514
          IN IF HasThrown(v) /\ v.thrown # "ControllerMovedException"
             THEN TriggerControllerMove(v) ELSE v

-----------------------------------------------------------------------------
\* Events about the cluster.

\* KC:609
OnReplicasBecomeOffline(s, replicas) ==
  LET deleted == {r \in replicas : Known(s, r[1]).queued}
      offline == {t \in Numbers : /\ ~Known(s, t).queued /\ Known(s, t).leadership # None
                                  /\ Known(s, t).leadership.leader \notin LiveIds(s)}   \* CC:426
      t == TriggerOnlinePartitions(ChangePartitions(s, offline, "OfflinePartition"))
      u == ChangeReplicas(t, replicas \ deleted, "OfflineReplica")                      \* KC:620
  IN IF HasThrown(s) THEN s ELSE FailReplicaDeletion(u, deleted)                        \* KC:627

\* KC:580
OnBrokerFailure(s, dead) == OnReplicasBecomeOffline(s, ReplicasOn(s, dead))

\* KC:517
OnBrokerStartup(s, new) ==
  LET led == {t \in Numbers : /\ Known(s, t).leadership # None
                              /\ Version = "2.4" \/ ~Known(s, t).queued}   \* CC:423, 2.4.1 KC:418
      replicas == ReplicasOn(s, new)
      t == ChangeReplicas(SendUpdateMetadata(s, new, led), replicas, "OnlineReplica")   \* KC:536
      targets(a) == \E b \in new : Has(Target(a), b)                                    \* KC:537
      u == ResumeReassignments(TriggerOnlinePartitions(t), targets)
      queued == {r \in replicas : Known(u, r[1]).queued}
  IN IF HasThrown(s) THEN s ELSE ResumeDeletionForTopics(u, {r[1] : r \in queued})      \* KC:551

\* KC:1554
ProcessBrokerChange(s) ==
  LET live    == Context(s).live
      present == s.nodes.brokers
      new     == {b \in Ids : live[b] = 0 /\ present[b] # 0}
      dead    == {b \in Ids : live[b] # 0 /\ present[b] = 0}
      bounced == {b \in Ids : live[b] # 0 /\ present[b] > live[b]}
      setLive(u, ids, epochs) ==
        [u EXCEPT !.brokers[s.self].controller.live =
           [b \in Ids |-> IF b \in ids THEN epochs[b] ELSE @[b]]]
      none == [b \in Ids |-> 0]
      watching == [Apply(s, "event/broker-change") EXCEPT
                     !.brokers[s.self].controller.watchesBrokers = TRUE]
      closed   == Fold(CloseChannel, watching, Ascending(bounced \cup dead))           \* KC:1577
      t == [closed EXCEPT !.connected = @ \cup new \cup bounced]
      u == IF new = {} THEN t
           ELSE OnBrokerStartup(setLive(Apply(t, "brokers/new"), new, present), new)   \* KC:1581
      v == IF bounced = {} \/ HasThrown(u) THEN u
           ELSE LET x == setLive(Apply(u, "brokers/bounced"), bounced, none)
                    w == OnBrokerFailure(x, bounced)                                   \* KC:1591
                IN IF HasThrown(w) THEN w
                   ELSE OnBrokerStartup(setLive(w, bounced, present), bounced)
  IN IF Context(s) = None THEN Apply(s, "event/broker-change-ignored")
     ELSE IF dead = {} \/ HasThrown(v) THEN v
     ELSE OnBrokerFailure(setLive(Apply(v, "brokers/dead"), dead, none), dead)         \* KC:1604

\* KC:643
OnNewPartitionCreation(s, topics) ==
  LET replicas == ReplicasOf(s, topics)
      t == ChangeReplicas(ChangePartitions(s, topics, "NewPartition"), replicas, "NewReplica")
      u == ChangePartitions(t, topics, "OnlinePartition")
  IN ChangeReplicas(u, replicas, "OnlineReplica")

\* KC:1627
ProcessTopicChange(s) ==
  LET new     == {t \in Numbers : s.nodes.topics[t] /\ ~Known(s, t).known}
      deleted == {t \in Numbers : ~s.nodes.topics[t] /\ Known(s, t).known}
      add(u, t) == [u EXCEPT !.brokers[s.self].controller.topics[t] =
                      [@ EXCEPT !.known = TRUE, !.assigned = s.nodes.assignments[t].replicas]]
      watching == [Apply(s, "event/topic-change") EXCEPT
                     !.brokers[s.self].controller.watchesTopics = TRUE]
      t == Fold(add, Fold(RemoveTopic, watching, Ascending(deleted)), Ascending(new))
  IN IF Context(s) = None THEN Apply(s, "event/topic-change-ignored")
     ELSE IF new = {} THEN t
     ELSE OnNewPartitionCreation(t, new)                                               \* KC:1643

\* KC:1702
ProcessTopicDeletion(s) ==
  LET all     == {t \in Numbers : s.nodes.deletions[t]}
      unknown == {t \in all : ~Known(s, t).known}
      remove(u, t) == IF HasThrown(u) THEN u ELSE DeleteTopicDeletion(u, t)
      watching == [Apply(s, "event/topic-deletion") EXCEPT
                     !.brokers[s.self].controller.watchesDeletions = TRUE]
      t == Fold(remove, watching, Ascending(unknown))                                  \* KC:1709
      moving == {n \in all \ unknown : Known(t, n).reassigned}                          \* KC:1717
  IN IF Context(s) = None THEN Apply(s, "event/topic-deletion-ignored")
     ELSE IF HasThrown(t) \/ all = unknown THEN t
     ELSE EnqueueTopicsForDeletion(MarkIneligible(t, moving), all \ unknown)  \* KC:1720, 1724

\* KC:1393. No replica has failed.
ProcessStopReplicaResponse(s, event) ==
  IF Context(s) = None THEN Apply(s, "event/replica-deleted-ignored")
  ELSE CompleteReplicaDeletion(Apply(s, "event/replica-deleted"),
                               {<<event.topics[i], event.broker>> : i \in DOMAIN event.topics})

\* 2.4.1 KC:1711. ControllerMovedException ends the event after the requests have been sent.
ProcessIsrChangeNotification(s) ==
  LET announced == s.nodes.announced
      topics == {t \in Numbers : \E i \in DOMAIN announced : Has(announced[i], t)}
      read(u, t) == IF s.nodes.partitions[t] = None THEN u
                    ELSE PutLeadership(WatchState(u, t), t, s.nodes.partitions[t])
      t == Fold(read, Apply(s, "event/isr-change"), Ascending(topics))                \* 2.4.1 KC:1723
      u == IF topics = {} THEN t ELSE SendUpdateMetadata(t, LiveIds(t), topics)
  IN IF Context(s) = None THEN Apply(s, "event/isr-change-ignored")
     ELSE DeleteIsrChangeNotifications(u)

\* KC:2127, of a preferred leader, and triggered by an AdminClient.
ProcessReplicaLeaderElection(s, event) ==
  LET t == event.topics[1]
      k == Known(s, t)
      u == Apply(s, "event/preferred-leader")
  IN IF Context(s) = None THEN Apply(s, "event/preferred-leader-ignored")              \* KC:2133
     ELSE IF k.assigned = <<>> \/ k.queued THEN u                                \* KC:2148, 2153
     ELSE IF k.leadership = None THEN u  \* NoSuchElementException. KC:2166
     ELSE IF k.leadership.leader = k.assigned[1] THEN u                                \* KC:2167
     ELSE HandlePartitions(u, {t}, "OnlinePartition", "preferred")                            \* KC:2175

-----------------------------------------------------------------------------
\* Events about the controller itself.

\* KC:1415
ProcessStartup(s) ==
  Elect([Apply(s, "event/startup") EXCEPT !.brokers[s.self].watchesController = TRUE])

\* KC:2355
ProcessControllerChange(s) == MaybeResign(Apply(s, "event/controller-change"))

\* KC:2359
ProcessReelect(s) == Elect(MaybeResign(Apply(s, "event/reelect")))

\* KC:2364
ProcessRegisterBrokerAndReelect(s) ==
  Elect(MaybeResign(RegisterBroker(Apply(s, "event/register"), s.self)))

\* KC:2369. When the event is being handled, the broker gets a new session. KC:168
ProcessExpire(s) ==
  LET t == Resign(Apply(s, "event/expire"))
  IN Enqueue([t EXCEPT !.brokers[s.self].watchesController = FALSE,
                       !.brokers[s.self].session = "live"],
             s.self, Event("RegisterBrokerAndReelect"))

\* KC:2376
Process(s, event) ==
  CASE event.name = "Startup"                  -> ProcessStartup(s)
    [] event.name = "Reelect"                  -> ProcessReelect(s)
    [] event.name = "ControllerChange"         -> ProcessControllerChange(s)
    [] event.name = "Expire"                   -> ProcessExpire(s)
    [] event.name = "RegisterBrokerAndReelect" -> ProcessRegisterBrokerAndReelect(s)
    [] event.name = "BrokerChange"             -> ProcessBrokerChange(s)
    [] event.name = "TopicChange"              -> ProcessTopicChange(s)
    [] event.name = "TopicDeletion"            -> ProcessTopicDeletion(s)
    [] event.name = "ReplicaLeaderElection"    -> ProcessReplicaLeaderElection(s, event)
    [] event.name = "ApiPartitionReassignment" -> ProcessReassignment(s, event)
    [] event.name = "AlterIsrReceived"         -> ProcessAlterIsr(s, event)
    [] event.name = "IsrChangeNotification"    -> ProcessIsrChangeNotification(s)
    [] event.name = "PartitionReassignmentIsrChange"
                                               -> ProcessPartitionReassignmentIsrChange(s, event)
    [] event.name = "TopicDeletionStopReplicaResponseReceived"
                                               -> ProcessStopReplicaResponse(s, event)

\* Events that have an effect before they read or write a node, or may not read one.
WithoutSession == {"Expire", "AlterIsrReceived", "PartitionReassignmentIsrChange",
                   "TopicDeletionStopReplicaResponseReceived"}

\* A broker handles the oldest event in its queue. The event ends with an exception. After
\* ControllerMovedException the broker resigns, if it is not the controller any more. KC:2434
Handle(s) ==
  LET event == Head(Me(s).queue)
      t == [s EXCEPT !.brokers[s.self].queue = Tail(@)]
      u == Process(t, event)
  IN IF IsExpired(s) /\ event.name \notin WithoutSession
     THEN Apply(t, "event/session-ended")                                              \* KC:2439
     ELSE IF u.thrown = "ControllerMovedException"                                     \* KC:2436
     THEN MaybeResign(Apply(u, "event/moved"))
     ELSE u

=============================================================================
