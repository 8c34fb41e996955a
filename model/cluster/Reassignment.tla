---------------------------- MODULE Reassignment ----------------------------
(* How a controller moves a partition to other replicas, as KIP-455 has it.    *)
(* Nodes explains the comments that cite lines.                                *)
EXTENDS Deletion

\* CC:44
Minus(sequence, other) == SelectSeq(sequence, LAMBDA x : ~Has(other, x))
Origin(a) == Minus(a.replicas, a.adding)
Target(a) == Minus(a.replicas, a.removing)
IsMoving(a) == a.adding # <<>> \/ a.removing # <<>>
ReassignTo(a, target) ==
  LET all == target \o Minus(Origin(a), target)
  IN Assignment(all, Minus(all, Origin(a)), Minus(all, target))

Full(s, t) == Assignment(Known(s, t).assigned, Known(s, t).adding, Known(s, t).removing)
PutFull(s, t, a) ==
  [s EXCEPT !.brokers[s.self].controller.topics[t] =
     [@ EXCEPT !.assigned = a.replicas, !.adding = a.adding, !.removing = a.removing]]
\* 2.4 also registers a handler of changes of the node of the partition. KC:798, 2.4.1 KC:687
AddReassigned(s, t) ==
  [s EXCEPT !.brokers[s.self].controller.topics[t] =
     [@ EXCEPT !.reassigned = TRUE,
               !.watch = IF Version = "2.4" /\ @ = "none" THEN "registered" ELSE @]]
\* KC:1111, 2.4.1 KC:984
RemoveReassigned(s, t) ==
  [s EXCEPT !.brokers[s.self].controller.topics[t] =
     [@ EXCEPT !.reassigned = FALSE, !.watch = "none"]]

Fail(s, exception) == [s EXCEPT !.thrown = exception]

\* KC:1025. A check of /controller_epoch comes first.
WriteAssignment(s, t, a) ==
  IF HasThrown(s) THEN s
  ELSE IF IsExpired(s) THEN Expired(s)
  ELSE IF Fenced(s) THEN Moved(s)
  ELSE IF ~s.nodes.topics[t]
  THEN Fail(Apply(s, "reassignment/no-topic"), "IllegalStateException")                \* KC:1034
  ELSE [s EXCEPT !.nodes.assignments[t] = a]

\* KC:1013
StopRemovedReplicas(s, t, brokers) ==
  LET replicas == {<<t, brokers[i]>> : i \in DOMAIN brokers}
      u == ChangeReplicas(ChangeReplicas(s, replicas, "OfflineReplica"), replicas,
                          "ReplicaDeletionStarted")
  IN ChangeReplicas(ChangeReplicas(u, replicas, "ReplicaDeletionSuccessful"), replicas,
                    "NonExistentReplica")

\* KC:775
UpdateCurrentReassignment(s, t, a) ==
  LET before == Full(s, t)
      u == WriteAssignment(Apply(s, "reassignment/assigned"), t, a)                    \* KC:782
      v == StopRemovedReplicas(PutFull(u, t, a), t, Minus(before.replicas, a.replicas))
  IN IF before = a THEN AddReassigned(Apply(s, "reassignment/resumed"), t)             \* KC:778
     ELSE IF HasThrown(u) THEN u
     ELSE IF HasThrown(v) THEN v
     ELSE AddReassigned(v, t)

\* KC:1191, 1045. The read sets the watch. 2.4.1 KC:1071
UpdateLeaderEpochAndSend(s, t, a) ==
  LET p == s.nodes.partitions[t]
      r == WatchState(s, t)
      applied == Apply(r, "reassignment/leader-epoch")
      u == WritePartition(applied, t, p.leader, p.leaderEpoch + 1, p.isr)
      v == PutLeadership(u, t, u.nodes.partitions[t])
      to == {a.replicas[i] : i \in DOMAIN a.replicas}
  IN IF HasThrown(s) THEN s
     ELSE IF IsExpired(s) THEN Expired(s)
     ELSE IF p = None                                                                  \* KC:1221
     THEN Fail(Apply(s, "reassignment/node-is-gone"), "IllegalStateException")
     ELSE IF p.controllerEpoch > Context(s).epoch                                      \* KC:1200
     THEN Fail(Apply(r, "reassignment/node-is-newer"), "StateChangeFailedException")
     ELSE IF Fenced(s) THEN Moved(applied)
     ELSE SendRequests(AddLeaderAndIsr(NewBatch(v), to, t))

\* KC:991
MoveLeaderIfRequired(s, t, a) ==
  LET p == Known(s, t).leadership
  IN IF HasThrown(s) THEN s
     ELSE IF p = None                                                                  \* KC:994
     THEN Fail(Apply(s, "reassignment/without-leader"), "NoSuchElementException")
     ELSE IF Has(a.replicas, p.leader) /\ p.leader \in LiveIds(s)                      \* KC:1001
     THEN UpdateLeaderEpochAndSend(Apply(s, "reassignment/leader-stays"), t, a)
     ELSE HandlePartitions(Apply(s, "reassignment/leader-moves"), {t}, "OnlinePartition",
                           "reassign")                                                 \* KC:1000

\* KC:979
IsComplete(s, t, a) ==
  LET p == s.nodes.partitions[t]
  IN ~IsMoving(a) \/ (p # None /\ \A i \in DOMAIN Target(a) : Has(p.isr, Target(a)[i]))
ReadsState(a) == IsMoving(a)
\* The read sets the watch. 2.4.1 KC:870
WatchIfMoving(s, t, a) == IF ReadsState(a) THEN WatchState(s, t) ELSE s

\* KC:734, phase A
StartReassignment(s, t, a) ==
  LET new(u, b) == ChangeReplicas(u, {<<t, b>>}, "NewReplica")                         \* KC:1045
      u == UpdateLeaderEpochAndSend(Apply(s, "reassignment/started"), t, a)
  IN Fold(new, u, a.adding)

\* KC:738, phase B
CompleteReassignment(s, t, a) ==
  LET done == Assignment(Target(a), <<>>, <<>>)
      added == {<<t, a.adding[i]>> : i \in DOMAIN a.adding}
      b1 == ChangeReplicas(Apply(s, "reassignment/completed"), added, "OnlineReplica")
      b3 == MoveLeaderIfRequired(PutFull(b1, t, done), t, done)
      b5 == StopRemovedReplicas(b3, t, a.removing)
      b6 == WriteAssignment(b5, t, done)
      b8 == SendUpdateMetadata(RemoveReassigned(b6, t), LiveIds(s), {t})
  IN IF HasThrown(b1) THEN b1
     ELSE IF HasThrown(b6) THEN b6
     ELSE ResumeDeletionForTopics(b8, {t})                                             \* KC:756

\* KC:723
OnPartitionReassignment(s, t, a) ==
  LET u == UpdateCurrentReassignment(MarkIneligible(s, {t}), t, a)
      v == WatchIfMoving(u, t, a)
  IN IF HasThrown(s) THEN s
     ELSE IF HasThrown(u) THEN u
     ELSE IF ReadsState(a) /\ IsExpired(u) THEN Expired(u)
     ELSE IF IsComplete(v, t, a) THEN CompleteReassignment(v, t, a)
     ELSE StartReassignment(v, t, a)

\* KC:552
ResumeReassignments(s, shouldResume(_)) ==
  LET resume(u, t) == IF HasThrown(u) \/ ~shouldResume(Full(u, t)) THEN u
                      ELSE OnPartitionReassignment(u, t, Full(u, t))
  IN IF HasThrown(s) THEN s ELSE Fold(resume, s, Ascending({t \in Numbers : Known(s, t).reassigned}))

\* KC:1844, after AlterIsr without an error, and in 2.4 when the node has changed. 2.4.1 KC:1679
MaybeComplete(s, t) ==
  LET a == Full(s, t)
      r == WatchIfMoving(s, t, a)
  IN IF ~Known(s, t).reassigned THEN s
     ELSE IF ReadsState(a) /\ IsExpired(s) THEN Expired(s)
     ELSE IF ~IsComplete(r, t, a) THEN r
     ELSE OnPartitionReassignment(Apply(r, "reassignment/caught-up"), t, a)

\* 2.4.1 KC:1676
ProcessPartitionReassignmentIsrChange(s, event) ==
  IF Context(s) = None THEN Apply(s, "event/reassigned-isr-change-ignored")
  ELSE MaybeComplete(Apply(s, "event/reassigned-isr-change"), event.topics[1])

\* KC:1769. Without replicas, the request cancels a reassignment.
ProcessReassignment(s, event) ==
  LET t       == event.topics[1]
      current == Full(s, t)
      cancels == event.replicas = <<>>
      asked   == ReassignTo(current, IF cancels THEN Origin(current) ELSE event.replicas)
      alive   == \A i \in DOMAIN asked.adding : IsLive(s, asked.adding[i])
  IN IF Context(s) = None THEN Apply(s, "event/reassignment-ignored")                  \* KC:1771
     ELSE IF ~cancels /\ ~alive THEN Apply(s, "event/reassignment-dead-target")        \* KC:1815
     ELSE IF cancels /\ ~IsMoving(current) THEN Apply(s, "event/reassignment-none")    \* KC:1783
     ELSE IF Known(s, t).queued THEN Apply(s, "event/reassignment-deleted")            \* KC:819
     ELSE IF current.replicas = <<>> THEN Apply(s, "event/reassignment-unknown")       \* KC:824
     ELSE OnPartitionReassignment(Apply(s, "event/reassignment"), t, asked)

=============================================================================
