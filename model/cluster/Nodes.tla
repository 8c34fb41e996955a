------------------------------- MODULE Nodes --------------------------------
(* The state of a cluster, and its nodes in ZooKeeper: watches, conditional    *)
(* writes, and sessions, as Kafka 2.7.2 and 2.4.1 have them.                   *)
(*                                                                             *)
(* A step is a record of the variables, which operators change one after the   *)
(* other. They have the names of the methods that they transcribe. s.self is   *)
(* the broker that takes the step. Comments cite Kafka's source, at tag 2.7.2, *)
(* or where they say so at tag 2.4.1:                                          *)
(* KC is KafkaController.scala, EM ControllerEventManager.scala, CC            *)
(* ControllerContext.scala, CCM ControllerChannelManager.scala, RSM            *)
(* ReplicaStateMachine.scala, PSM PartitionStateMachine.scala, EL              *)
(* Election.scala, TDM TopicDeletionManager.scala, ZK KafkaZkClient.scala, ZC  *)
(* ZooKeeperClient.scala, KA KafkaApis.scala, RM ReplicaManager.scala, PA      *)
(* Partition.scala, RU ReplicationUtils.scala, MC MetadataCache.scala, and GC  *)
(* GroupCoordinator.scala.                                                     *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Brokers,   \* how many there are
  Topics,    \* for each topic, its replicas in the order of the assignment
  Running,   \* whether the cluster runs at first, with broker 1 as its controller
  Created,   \* how many of the topics exist at first
  Faults,    \* how many brokers are killed, sessions end, and so on
  Requests,  \* how many topics are created or deleted, leaders requested, or offsets committed
  Kills,     \* whether brokers are killed
  Expires,   \* whether sessions of running brokers end
  Moves,     \* whether /controller is deleted
  Isr,       \* whether replicas fall behind and catch up
  Unclean,   \* unclean.leader.election.enable
  Elects,    \* whether preferred leaders are requested
  Targets,   \* for each topic, the replicas to which it is reassigned; <<>> if it is not
  Cancels,   \* whether the end of reassignments is requested
  Groups,    \* whether the first topic has the groups, which commit offsets of the second
  Version    \* of Kafka, "2.7" or "2.4"

Ids     == 1..Brokers      \* of brokers
Numbers == 1..Len(Topics)  \* of topics

\* A leader writes ISRs itself. 2.4.1 PA:1172
WritesIsr == Version = "2.4"

None         == <<>>
NoId       == 0
NoTopic      == 0
NoLeader     == -1
NoEpoch      == -1
DuringDelete == -2  \* a leader, or the leader epoch of StopReplica

GroupTopic == 1
OtherTopic == 2  \* of which groups commit offsets

-----------------------------------------------------------------------------
\* Sequences.

\* The members of a set of brokers or topics.
Ascending(set) ==
  LET top == IF Brokers > Len(Topics) THEN Brokers ELSE Len(Topics)
  IN SelectSeq([i \in 1..top |-> i], LAMBDA i : i \in set)

\* step(s, x) for each x of a sequence, one after the other.
Fold(step(_, _), s, sequence) ==
  LET after[i \in 0..Len(sequence)] ==
        IF i = 0 THEN s ELSE step(after[i - 1], sequence[i])
  IN after[Len(sequence)]

Has(sequence, x)     == \E i \in DOMAIN sequence : sequence[i] = x
Without(sequence, x) == SelectSeq(sequence, LAMBDA y : y # x)

-----------------------------------------------------------------------------
\* Records.

Partition(leader, leaderEpoch, isr, controllerEpoch, version) ==
  [leader |-> leader, leaderEpoch |-> leaderEpoch, isr |-> isr,
   controllerEpoch |-> controllerEpoch, version |-> version]

\* What a request says about a topic.
TopicRequest(t) == [topic |-> t, leader |-> NoLeader, leaderEpoch |-> NoEpoch, isr |-> <<>>,
                    version |-> 0, delete |-> FALSE, replicas |-> <<>>, controllerEpoch |-> 0]

\* What /brokers/topics/TOPIC has: the replicas, those that a reassignment adds, and removes. CC:44
Assignment(replicas, adding, removing) ==
  [replicas |-> replicas, adding |-> adding, removing |-> removing]
NoAssignment == Assignment(<<>>, <<>>, <<>>)

\* A controller event.
Event(name) == [name |-> name, broker |-> NoId, epoch |-> 0, topics |-> <<>>,
                partition |-> None, replicas |-> <<>>]

\* What a controller knows of a topic that it does not know.
NoTopicState == [known |-> FALSE, assigned |-> <<>>, leadership |-> None,
                 phase |-> "NonExistentPartition",
                 replicas |-> [b \in Ids |-> "NonExistentReplica"],
                 queued |-> FALSE, started |-> FALSE, ineligible |-> FALSE,
                 adding |-> <<>>, removing |-> <<>>, reassigned |-> FALSE, watch |-> "none"]

NoReplica == [log |-> FALSE, role |-> "none", leaderEpoch |-> NoEpoch, isr |-> <<>>,
              version |-> 0, pending |-> FALSE, assigned |-> <<>>, controllerEpoch |-> 0]

NoCoordinator == [tasks |-> <<>>, loading |-> FALSE, owns |-> FALSE, offset |-> FALSE]

\* A broker that does not run.
NoBroker == [running |-> FALSE, session |-> "none", epoch |-> 0, queue |-> <<>>,
             claiming |-> NoEpoch, watchesController |-> FALSE, controller |-> None,
             stuck |-> FALSE, controllerEpoch |-> 0,
             replicas |-> [t \in Numbers |-> NoReplica], leaders |-> [t \in Numbers |-> 0],
             coordinator |-> NoCoordinator, changed |-> <<>>]

\* Requests that a state machine collects before it sends them: by broker and topic, what
\* LeaderAndIsr and StopReplica say; by topic, what UpdateMetadata says, and to which brokers.
NoBatch == [leaderAndIsr |-> [b \in Ids |-> [t \in Numbers |-> None]],
            metadata |-> [t \in Numbers |-> None], metadataTo |-> {},
            stop |-> [b \in Ids |-> [t \in Numbers |-> None]]]

-----------------------------------------------------------------------------
\* A step.

\* Record the id of a rule that the step applies.
Apply(s, rule) == [s EXCEPT !.rules = Append(@, rule)]

Me(s) == s.brokers[s.self]
\* What the broker of the step knows as the controller.
Context(s) == Me(s).controller

Enqueue(s, b, event) == [s EXCEPT !.brokers[b].queue = Append(@, event)]

\* The connection of a request has ended after it was sent: it arrives or is lost. Orphans are pairs
\* of a request and how many of it there are.
Orphan(s, request) ==
  LET same  == {o \in s.orphans : o[1] = request}
      count == IF same = {} THEN 0 ELSE (CHOOSE o \in same : TRUE)[2]
  IN [s EXCEPT !.orphans = (@ \ same) \cup {<<request, count + 1>>}]

RemoveOrphan(s, request) ==
  LET o == CHOOSE o \in s.orphans : o[1] = request
  IN [s EXCEPT !.orphans = (@ \ {o}) \cup (IF o[2] = 1 THEN {} ELSE {<<request, o[2] - 1>>})]

-----------------------------------------------------------------------------
\* Watches. ZooKeeper notifies a session once of a change, as long as it lives; the handler puts an
\* event. ZC:437

HasSession(broker) == broker.running /\ broker.session = "live"

\* /controller is created or deleted. KC:2530
FireController(s, name) ==
  LET fire(u, b) ==
        IF HasSession(u.brokers[b]) /\ u.brokers[b].watchesController
        THEN Enqueue([u EXCEPT !.brokers[b].watchesController = FALSE], b, Event(name))
        ELSE u
  IN Fold(fire, s, Ascending(Ids))

\* Children of /brokers/ids, /brokers/topics, /admin/delete_topics, or /isr_change_notification
\* change. KC:2456
FireChildren(s, watch, name) ==
  LET fire(u, b) ==
        IF HasSession(u.brokers[b]) /\ u.brokers[b].controller # None
           /\ u.brokers[b].controller[watch]
        THEN Enqueue([u EXCEPT !.brokers[b].controller[watch] = FALSE], b, Event(name))
        ELSE u
  IN Fold(fire, s, Ascending(Ids))

BrokersChanged(s)   == FireChildren(s, "watchesBrokers", "BrokerChange")
TopicsChanged(s)    == FireChildren(s, "watchesTopics", "TopicChange")
DeletionsChanged(s) == FireChildren(s, "watchesDeletions", "TopicDeletion")
AnnouncedChanged(s) == FireChildren(s, "watchesIsr", "IsrChangeNotification")

\* The node of a partition is written or deleted. The watch of a topic that is being reassigned is
\* "none" without a handler, "registered" if there is one, so that a read of the node sets the watch,
\* and "set". The handler ignores that the node is deleted. 2.4.1 KC:1985, ZC:447, 448
StateChanged(s, t) ==
  LET watches(broker) == /\ HasSession(broker) /\ broker.controller # None
                         /\ broker.controller.topics[t].watch = "set"
      fired(u, b) == [u EXCEPT !.brokers[b].controller.topics[t].watch = "registered"]
      fire(u, b) ==
        IF ~watches(u.brokers[b]) THEN u
        ELSE IF u.nodes.partitions[t] = None THEN fired(u, b)
        ELSE Enqueue(fired(u, b), b,
                     [Event("PartitionReassignmentIsrChange") EXCEPT !.topics = <<t>>])
  IN Fold(fire, s, Ascending(Ids))

-----------------------------------------------------------------------------
\* Sessions and registrations.

\* The controller's broker or an operator deletes /controller.
DeleteController(s) ==
  IF s.nodes.controller = NoId THEN s
  ELSE FireController([s EXCEPT !.nodes.controller = NoId], "Reelect")

\* ZooKeeper ends a session, and deletes its nodes. NoId is notified in that session any more.
EndSession(s, b) ==
  LET ended == [s EXCEPT !.brokers[b].session = IF s.brokers[b].running THEN "expired" ELSE "none"]
      t == IF s.nodes.brokers[b] = 0 THEN ended
           ELSE BrokersChanged([ended EXCEPT !.nodes.brokers[b] = 0])
  IN IF s.nodes.controller = b THEN DeleteController(t) ELSE t

\* A new node in /brokers/ids, whose transaction is the epoch of the broker. ZK:92
RegisterBroker(s, b) ==
  LET epoch == s.registered[b] + 1
  IN BrokersChanged([s EXCEPT !.registered[b] = epoch, !.nodes.brokers[b] = epoch,
                              !.brokers[b].epoch = epoch])

-----------------------------------------------------------------------------
\* Writes of a controller. Each is one transaction with a check of the version of /controller_epoch,
\* and throws ControllerMovedException if that has grown. ZK:1888, 1906

Moved(s)  == [Apply(s, "write/fenced") EXCEPT !.thrown = "ControllerMovedException"]
Fenced(s) == s.nodes.controllerEpoch # Context(s).epoch

\* Without a session each request to ZooKeeper fails. ZK:1709
Expired(s)    == [s EXCEPT !.thrown = "SessionExpiredException"]
IsExpired(s)  == Me(s).session # "live"
HasThrown(s)  == s.thrown # "nothing"

\* Write the state of a partition, whose node exists and has the expected version. ZK:252
WritePartition(s, t, leader, leaderEpoch, isr) ==
  StateChanged([s EXCEPT !.nodes.partitions[t] =
                  Partition(leader, leaderEpoch, isr, Context(s).epoch, @.version + 1)], t)

\* A broker reads the node of a partition. That sets the watch if a handler is registered, and if
\* there is a node. 2.4.1 ZC:277
WatchState(s, t) ==
  IF Context(s) = None THEN s
  ELSE IF IsExpired(s) \/ s.nodes.partitions[t] = None THEN s
  ELSE IF Context(s).topics[t].watch # "registered" THEN s
  ELSE [s EXCEPT !.brokers[s.self].controller.topics[t].watch = "set"]

\* Delete /admin/delete_topics/TOPIC. ZK:805
DeleteTopicDeletion(s, t) ==
  IF IsExpired(s) THEN Expired(s)
  ELSE IF Fenced(s) THEN Moved(s)
  ELSE IF ~s.nodes.deletions[t] THEN s
  ELSE DeletionsChanged([s EXCEPT !.nodes.deletions[t] = FALSE])

\* Read the children of /isr_change_notification, which sets the watch, and delete them, which fires
\* it. 2.4.1 ZK:987, 1001
DeleteIsrChangeNotifications(s) ==
  LET t == [s EXCEPT !.brokers[s.self].controller.watchesIsr = TRUE]
  IN IF s.nodes.announced = <<>> THEN t
     ELSE IF Fenced(s) THEN Moved(t)
     ELSE AnnouncedChanged([t EXCEPT !.nodes.announced = <<>>])

\* Delete /brokers/topics/TOPIC with the nodes below it. ZK:1080, 1605
DeleteTopicNode(s, t) ==
  IF IsExpired(s) THEN Expired(s)                                                      \* ZK:1611
  ELSE IF Fenced(s) THEN Moved(s)
  ELSE IF ~s.nodes.topics[t] THEN s
  ELSE TopicsChanged(StateChanged([s EXCEPT !.nodes.topics[t] = FALSE,
                                            !.nodes.partitions[t] = None,
                                            !.nodes.assignments[t] = NoAssignment], t))

=============================================================================
