------------------------------ MODULE Machines ------------------------------
(* The state machines of a controller, for partitions and for replicas, and    *)
(* the requests that they send. Nodes explains the comments that cite lines.   *)
(*                                                                             *)
(* An operator does nothing once a write has thrown an exception (HasThrown),  *)
(* which ends the event.                                                       *)
EXTENDS Nodes

Known(s, t) == Context(s).topics[t]  \* what the controller knows of a topic

IsLive(s, b)   == Context(s).live[b] # 0  \* CC:196, and CC:211 without log directories
LiveIds(s)     == {b \in Ids : IsLive(s, b)}
Online(s, seq) == SelectSeq(seq, LAMBDA b : b \in LiveIds(s))

PutLeadership(s, t, partition) ==
  [s EXCEPT !.brokers[s.self].controller.topics[t].leadership = partition]
PutPartitionState(s, t, phase) ==
  [s EXCEPT !.brokers[s.self].controller.topics[t].phase = phase]
PutReplicaState(s, t, b, phase) ==
  [s EXCEPT !.brokers[s.self].controller.topics[t].replicas[b] = phase]

\* The topics of which a broker has a replica. CC:219
TopicsOn(s, b) == {t \in Numbers : Has(Known(s, t).assigned, b)}
ReplicasOn(s, ids) == {<<t, b>> \in Numbers \X ids : t \in TopicsOn(s, b)}
\* CC:266
ReplicasOf(s, topics) == {<<t, b>> \in topics \X Ids : t \in TopicsOn(s, b)}

-----------------------------------------------------------------------------
\* Requests.

NewBatch(s) == [s EXCEPT !.batch = NoBatch]

\* CCM:422. Brokers have metadata in instances with groups only.
AddUpdateMetadata(s, ids, topics) ==
  LET add(u, t) ==
        LET k == Known(u, t)
        IN IF k.leadership = None THEN u                                               \* CCM:446
           ELSE [u EXCEPT !.batch.metadata[t] =
                   [TopicRequest(t) EXCEPT
                      !.leader = IF k.queued THEN DuringDelete ELSE k.leadership.leader,
                      !.leaderEpoch = IF k.queued THEN 0 ELSE k.leadership.leaderEpoch]]
  IN IF ~Groups THEN s
     ELSE Fold(add, [s EXCEPT !.batch.metadataTo = @ \cup ids], Ascending(topics))

\* CCM:371
AddLeaderAndIsr(s, ids, t) ==
  LET p == Known(s, t).leadership
      says == [TopicRequest(t) EXCEPT !.leader = p.leader, !.leaderEpoch = p.leaderEpoch,
                                      !.isr = p.isr, !.version = p.version,
                                      !.replicas = Known(s, t).assigned,
                                      !.controllerEpoch = IF WritesIsr THEN p.controllerEpoch
                                                          ELSE 0]
      add(u, b) == [u EXCEPT !.batch.leaderAndIsr[b][t] = says]
  IN AddUpdateMetadata(Fold(add, s, Ascending(ids)), LiveIds(s), {t})

\* CCM:398. In 2.4 a request has no leader epoch. 2.4.1 CCM:404
AddStopReplica(s, b, t, delete) ==
  LET k     == Known(s, t)
      epoch == IF Version = "2.4" THEN NoEpoch
               ELSE IF k.queued THEN DuringDelete
               ELSE IF k.leadership = None THEN NoEpoch ELSE k.leadership.leaderEpoch
      old   == s.batch.stop[b][t]
  IN [s EXCEPT !.batch.stop[b][t] =
        [TopicRequest(t) EXCEPT !.leaderEpoch = epoch,
                                !.delete = delete \/ (old # None /\ old.delete)]]

\* To a live broker, if it has a channel: the channels of dead brokers go before the brokers. CCM:83
SendRequest(s, api, b, says) ==
  LET topics  == SelectSeq(says, LAMBDA x : x # None)
      request == [api |-> api, broker |-> b, controllerEpoch |-> Context(s).epoch,
                  brokerEpoch |-> Context(s).live[b], topics |-> topics]
  IN IF topics = <<>> \/ ~IsLive(s, b) \/ b \notin s.connected THEN s
     ELSE [s EXCEPT !.brokers[s.self].controller.channels[b] = Append(@, request)]

\* CCM:641
SendRequests(s) ==
  LET leaderAndIsr(u, b) == SendRequest(u, "LeaderAndIsr", b, s.batch.leaderAndIsr[b])
      metadata(u, b)     == SendRequest(u, "UpdateMetadata", b, s.batch.metadata)
      stop(u, b)         == SendRequest(u, "StopReplica", b, s.batch.stop[b])
      t == Fold(leaderAndIsr, s, Ascending(Ids))                                       \* CCM:456
      u == Fold(metadata, t, Ascending(s.batch.metadataTo))                            \* CCM:496
  IN NewBatch(Fold(stop, u, Ascending(Ids)))                                           \* CCM:550

\* KC:1173
SendUpdateMetadata(s, ids, topics) ==
  IF HasThrown(s) THEN s ELSE SendRequests(AddUpdateMetadata(NewBatch(s), ids, topics))

-----------------------------------------------------------------------------
\* The state machine of partitions.

\* PSM:569
PreviousPartitionStates(target) ==
  CASE target = "NewPartition" -> {"NonExistentPartition"}
    [] target \in {"OnlinePartition", "OfflinePartition"} ->
         {"NewPartition", "OnlinePartition", "OfflinePartition"}
    [] target = "NonExistentPartition" -> {"OfflinePartition"}

\* The first leader: the first live replica, with all live replicas as ISR. PSM:277
InitializeLeaderAndIsr(s, t) ==
  LET live == Online(s, Known(s, t).assigned)
      node == Partition(live[1], 0, live, Context(s).epoch, 0)
      exists == ~s.nodes.topics[t] \/ s.nodes.partitions[t] # None
      rule   == IF exists THEN "partition/exists" ELSE "partition/first-leader"
  IN IF HasThrown(s) THEN s
     ELSE IF live = <<>> THEN Apply(s, "partition/no-live-replica")                    \* PSM:286
     ELSE IF Fenced(s) THEN Moved(Apply(s, rule))                                      \* PSM:302
     ELSE IF exists THEN Apply(s, rule)                                                \* PSM:319
     ELSE LET u == PutLeadership([Apply(s, rule) EXCEPT !.nodes.partitions[t] = node],
                                 t, node)                                              \* PSM:313
          IN PutPartitionState(AddLeaderAndIsr(u, {live[i] : i \in DOMAIN live}, t), t,
                               "OnlinePartition")

\* EL:28, PSM:530, 470: the first live replica in the ISR, else with unclean elections the first
\* live one. The result is the leader, the ISR, and the recipients, or <<>>.
LeaderForOffline(s, t, p) ==
  LET assigned == Known(s, t).assigned
      live     == Online(s, assigned)
      inSync   == SelectSeq(live, LAMBDA b : Has(p.isr, b))
      recipients == {live[i] : i \in DOMAIN live}
  IN IF inSync # <<>>
     THEN [leader |-> inSync[1], isr |-> Online(s, p.isr), recipients |-> recipients]
     ELSE IF Unclean /\ Online(s, p.isr) = <<>> /\ live # <<>>
     THEN [leader |-> live[1], isr |-> <<live[1]>>, recipients |-> recipients]
     ELSE None

\* EL:99, PSM:547
LeaderForPreferredReplica(s, t, p) ==
  LET assigned == Known(s, t).assigned
  IN IF assigned # <<>> /\ IsLive(s, assigned[1]) /\ Has(p.isr, assigned[1])
     THEN [leader |-> assigned[1], isr |-> p.isr,
           recipients |-> {assigned[i] : i \in DOMAIN assigned}]
     ELSE None

\* EL:64, PSM:543: the first target that is live and in the ISR, which stays.
LeaderForReassign(s, t, p) ==
  LET targets == SelectSeq(Known(s, t).assigned, LAMBDA b : ~Has(Known(s, t).removing, b))
      able    == SelectSeq(Online(s, targets), LAMBDA b : Has(p.isr, b))
  IN IF able = <<>> THEN None
     ELSE [leader |-> able[1], isr |-> p.isr, recipients |-> {targets[i] : i \in DOMAIN targets}]

\* PSM:369. The read sets the watch. 2.4.1 PSM:370
ElectLeader(s, t, strategy) ==
  LET p       == s.nodes.partitions[t]
      elected == CASE strategy = "preferred" -> LeaderForPreferredReplica(s, t, p)
                   [] strategy = "reassign"  -> LeaderForReassign(s, t, p)
                   [] strategy = "offline"   -> LeaderForOffline(s, t, p)
      r       == WatchState(s, t)
      applied == Apply(r, IF Has(p.isr, elected.leader) THEN "partition/leader"
                          ELSE "partition/unclean-leader")
  IN IF HasThrown(s) THEN s
     ELSE IF p = None THEN Apply(s, "partition/node-is-gone")                          \* PSM:403
     ELSE IF p.controllerEpoch > Context(s).epoch                                      \* PSM:388
     THEN Apply(r, "partition/node-is-newer")
     ELSE IF elected = None THEN Apply(r, "partition/no-leader")                       \* PSM:428
     ELSE IF Fenced(s) THEN Moved(applied)                                             \* PSM:435
     ELSE LET u == WritePartition(applied, t, elected.leader, p.leaderEpoch + 1, elected.isr)
              v == PutLeadership(u, t, u.nodes.partitions[t])                          \* PSM:441
          IN PutPartitionState(AddLeaderAndIsr(v, elected.recipients, t), t,
                               "OnlinePartition")                                      \* PSM:252

\* PSM:204. All elections of one call are written at once; only the first can find that the
\* controller has moved.
HandlePartitions(s, topics, target, strategy) ==
  LET valid == {t \in topics : Known(s, t).phase \in PreviousPartitionStates(target)}
      rule == CASE target = "NewPartition"         -> "partition/new"
                [] target = "OfflinePartition"     -> "partition/offline"
                [] target = "NonExistentPartition" -> "partition/non-existent"
      put(u, t) == PutPartitionState(Apply(u, rule), t, target)
      new == {t \in valid : Known(s, t).phase = "NewPartition"}
      init(u, t)  == InitializeLeaderAndIsr(u, t)
      elect(u, t) == ElectLeader(u, t, strategy)
      u == NewBatch(s)
      v == IF target = "OnlinePartition"
           THEN Fold(elect, Fold(init, u, Ascending(new)), Ascending(valid \ new))     \* PSM:223
           ELSE Fold(put, u, Ascending(valid))
  IN IF HasThrown(s) \/ topics = {} THEN s
     ELSE IF HasThrown(v) THEN v ELSE SendRequests(v)

ChangePartitions(s, topics, target) == HandlePartitions(s, topics, target, "offline")

\* PSM:57
TriggerOnlinePartitions(s) ==
  ChangePartitions(s, {t \in Numbers : /\ Known(s, t).phase \in {"OfflinePartition", "NewPartition"}
                                       /\ ~Known(s, t).queued}, "OnlinePartition")

\* PSM:38, 83
StartPartitions(s) ==
  LET initial(u, t) ==
        LET p == Known(u, t).leadership
        IN PutPartitionState(u, t, IF p = None THEN "NewPartition"
                                   ELSE IF p.leader \in LiveIds(u) THEN "OnlinePartition"
                                   ELSE "OfflinePartition")
      all == {t \in Numbers : Known(s, t).assigned # <<>>}
  IN TriggerOnlinePartitions(Fold(initial, s, Ascending(all)))

-----------------------------------------------------------------------------
\* The state machine of replicas.

\* RSM:460
PreviousReplicaStates(target) ==
  CASE target = "NewReplica" -> {"NonExistentReplica"}
    [] target \in {"OnlineReplica", "OfflineReplica"} ->
         {"NewReplica", "OnlineReplica", "OfflineReplica", "ReplicaDeletionIneligible"}
    [] target = "ReplicaDeletionStarted" -> {"OfflineReplica"}
    [] target = "ReplicaDeletionSuccessful" -> {"ReplicaDeletionStarted"}
    [] target = "ReplicaDeletionIneligible" -> {"OfflineReplica", "ReplicaDeletionStarted"}
    [] target = "NonExistentReplica" -> {"ReplicaDeletionSuccessful"}

\* RSM:167
ToNewReplica(s, t, b) ==
  LET p == Known(s, t).leadership
      u == PutReplicaState(Apply(s, IF p = None THEN "replica/new" ELSE "replica/added"), t, b,
                           "NewReplica")
  IN IF p = None THEN u                                                                \* RSM:187
     ELSE IF p.leader = b THEN s                                                       \* RSM:174
     ELSE AddLeaderAndIsr(u, {b}, t)

\* RSM:193
ToOnlineReplica(s, t, b) ==
  LET k == Known(s, t)
      rule == IF k.replicas[b] = "NewReplica" THEN "replica/started"
              ELSE IF k.leadership = None THEN "replica/without-leader"
              ELSE "replica/online"
      u == PutReplicaState(Apply(s, rule), t, b, "OnlineReplica")
  IN IF k.replicas[b] = "NewReplica"
     THEN IF Has(k.assigned, b) THEN u
          ELSE [u EXCEPT !.brokers[s.self].controller.topics[t].assigned = Append(@, b)]
     ELSE IF k.leadership = None THEN u
     ELSE AddLeaderAndIsr(u, {b}, t)

\* Remove a replica from the ISR, unless it is the last one. RSM:330. The copy of the node has the
\* epoch of this controller, also if that has not written it. RSM:371. The read sets the watch.
\* 2.4.1 RSM:380
RemoveFromIsr(s, t, b) ==
  LET p      == s.nodes.partitions[t]
      later  == p.controllerEpoch > Context(s).epoch
      rule   == IF IsExpired(s) THEN "replica/session-ended"
                ELSE IF p = None THEN "replica/node-is-gone"
                ELSE IF later THEN "replica/node-is-newer"
                ELSE IF Has(p.isr, b) THEN "replica/leaves-isr" ELSE "replica/offline"
      applied == Apply(WatchState(s, t), rule)
      leader == IF p.leader = b THEN NoLeader ELSE p.leader
      isr    == IF Len(p.isr) = 1 THEN p.isr ELSE Without(p.isr, b)
      u      == IF ~Has(p.isr, b) THEN applied
                ELSE WritePartition(applied, t, leader, p.leaderEpoch + 1, isr)
      copy   == [u.nodes.partitions[t] EXCEPT !.controllerEpoch = Context(s).epoch]
      v      == PutReplicaState(PutLeadership(u, t, copy), t, b, "OfflineReplica")     \* RSM:241
      others == {r \in Ids : r # b /\ Has(Known(s, t).assigned, r)}
  IN IF HasThrown(s) THEN s
     ELSE IF IsExpired(s) \/ p = None \/ later THEN applied                  \* RSM:427, 424, 412
     ELSE IF Has(p.isr, b) /\ Fenced(s) THEN Moved(applied)                            \* RSM:352
     ELSE IF Known(s, t).queued THEN v                                                 \* RSM:230
     ELSE AddLeaderAndIsr(v, others, t)

\* RSM:220
ToOfflineReplica(s, t, b) ==
  LET u == AddStopReplica(s, b, t, FALSE)
  IN IF HasThrown(s) THEN s
     ELSE IF Known(s, t).leadership # None THEN RemoveFromIsr(u, t, b)                 \* RSM:227
     ELSE PutReplicaState(Apply(u, "replica/offline-without-leader"), t, b,
                          "OfflineReplica")                                            \* RSM:244

\* RSM:251
ToDeletionStarted(s, t, b) ==
  AddStopReplica(PutReplicaState(Apply(s, "replica/deletion-started"), t, b,
                                 "ReplicaDeletionStarted"), b, t, TRUE)

\* RSM:273
ToNonExistentReplica(s, t, b) ==
  LET u == [Apply(s, "replica/forgotten") EXCEPT
              !.brokers[s.self].controller.topics[t].assigned = Without(@, b),
              !.brokers[s.self].controller.topics[t].adding = Without(@, b),
              !.brokers[s.self].controller.topics[t].removing = Without(@, b)]
  IN PutReplicaState(u, t, b, "NonExistentReplica")

\* RSM:159
HandleReplicasOf(s, b, topics, target) ==
  LET valid == {t \in topics : Known(s, t).replicas[b] \in PreviousReplicaStates(target)}
      change(u, t) ==
        CASE target = "NewReplica"             -> ToNewReplica(u, t, b)
          [] target = "OnlineReplica"          -> ToOnlineReplica(u, t, b)
          [] target = "OfflineReplica"         -> ToOfflineReplica(u, t, b)
          [] target = "ReplicaDeletionStarted" -> ToDeletionStarted(u, t, b)
          [] target = "NonExistentReplica"     -> ToNonExistentReplica(u, t, b)
          [] target = "ReplicaDeletionIneligible" ->                                   \* RSM:259
               PutReplicaState(Apply(u, "replica/ineligible"), t, b, target)
          [] target = "ReplicaDeletionSuccessful" ->                                   \* RSM:266
               PutReplicaState(Apply(u, "replica/deleted"), t, b, target)
  IN Fold(change, s, Ascending(valid))

\* RSM:106. The StopReplica that a transition to OfflineReplica has added is left in the batch if
\* the write fails with ControllerMovedException. Each later batch of this process then throws
\* IllegalStateException. CCM:350
ChangeReplicas(s, replicas, target) ==
  LET of(b) == {t \in Numbers : <<t, b>> \in replicas}
      handle(u, b) == IF of(b) = {} THEN u ELSE HandleReplicasOf(u, b, of(b), target)
      u == Fold(handle, NewBatch(s), Ascending(Ids))
  IN IF HasThrown(s) \/ replicas = {} THEN s
     ELSE IF Me(s).stuck THEN Apply(s, "replica/stuck")
     ELSE IF HasThrown(u) THEN [u EXCEPT !.brokers[s.self].stuck = TRUE]
     ELSE SendRequests(u)

\* RSM:36, 58
StartReplicas(s) ==
  LET all     == ReplicasOf(s, Numbers)
      online  == {r \in all : IsLive(s, r[2])}
      initial(u, t) ==
        LET put(v, b) == PutReplicaState(v, t, b, IF IsLive(v, b) THEN "OnlineReplica"
                                                  ELSE "ReplicaDeletionIneligible")
        IN Fold(put, u, Ascending({b \in Ids : <<t, b>> \in all}))
      u == Fold(initial, s, Ascending(Numbers))
  IN ChangeReplicas(ChangeReplicas(u, online, "OnlineReplica"), all \ online, "OfflineReplica")

=============================================================================
