------------------------------ MODULE Deletion ------------------------------
(* How a controller deletes topics: Kafka's TopicDeletionManager. Nodes        *)
(* explains the comments that cite lines.                                      *)
EXTENDS Machines

Queued(s) == {t \in Numbers : Known(s, t).queued}

SetQueued(s, t)     == [s EXCEPT !.brokers[s.self].controller.topics[t].queued = TRUE]
SetStarted(s, t)    == [s EXCEPT !.brokers[s.self].controller.topics[t].started = TRUE]
SetIneligible(s, t) == [s EXCEPT !.brokers[s.self].controller.topics[t].ineligible = TRUE]
SetEligible(s, t)   == [Apply(s, "deletion/resume") EXCEPT
                          !.brokers[s.self].controller.topics[t].ineligible = FALSE]

InState(s, t, phase) == {r \in ReplicasOf(s, {t}) : Known(s, t).replicas[r[2]] = phase}  \* CC:330
AllAre(s, t, phase)  == InState(s, t, phase) = ReplicasOf(s, {t})                       \* CC:334
AnyIs(s, t, phase)   == InState(s, t, phase) # {}                                       \* CC:338

\* CC:289. The states of its partition and replicas stay, and whether it is ineligible. In 2.4 it
\* also stays in topicsToBeDeleted and topicsWithDeletionStarted. 2.4.1 CC:288
RemoveTopic(s, t) ==
  LET stays(flag) == Version = "2.4" /\ flag
  IN [s EXCEPT !.brokers[s.self].controller.topics[t] =
        [@ EXCEPT !.known = FALSE, !.assigned = <<>>, !.adding = <<>>, !.removing = <<>>,
                  !.leadership = None,
                  !.queued = stays(@), !.started = stays(@)]]

\* TDM:170
MarkIneligible(s, topics) ==
  LET mark(u, t) == SetIneligible(Apply(u, "deletion/halt"), t)
  IN IF HasThrown(s) THEN s ELSE Fold(mark, s, Ascending(topics \cap Queued(s)))

Unqueue(s, t) == [s EXCEPT !.brokers[s.self].controller.topics[t].queued = FALSE,
                           !.brokers[s.self].controller.topics[t].started = FALSE]

\* TDM:239, 35
CompleteDeleteTopic(s, t) ==
  LET u == ChangeReplicas(s, InState(s, t, "ReplicaDeletionSuccessful"), "NonExistentReplica")
      before == IF Version = "2.4" THEN Unqueue(u, t) ELSE u                           \* 2.4.1 TDM:246
      v == DeleteTopicNode(before, t)
      w == IF HasThrown(v) THEN v ELSE DeleteTopicDeletion(v, t)
  IN IF HasThrown(w) THEN w ELSE RemoveTopic(w, t)

\* TDM:285
OnPartitionDeletion(s, topics) ==
  LET all   == ReplicasOf(s, topics)
      dead  == {r \in all : ~IsLive(s, r[2])}
      retry == {r \in all \ dead : Known(s, r[1]).replicas[r[2]] # "ReplicaDeletionSuccessful"}
      u == ChangeReplicas(s, dead, "ReplicaDeletionIneligible")                        \* TDM:309
      v == ChangeReplicas(u, retry, "OfflineReplica")                                  \* TDM:311
      w == ChangeReplicas(v, retry, "ReplicaDeletionStarted")
  IN IF HasThrown(s) THEN s ELSE MarkIneligible(w, {r[1] : r \in dead})                \* TDM:314

\* TDM:257
OnTopicDeletion(s, topics) ==
  LET unseen   == {t \in topics : ~Known(s, t).started}
      assigned == {t \in topics : Known(s, t).assigned # <<>>}
      u == ChangePartitions(s, unseen \cap assigned, "OfflinePartition")
      v == ChangePartitions(u, unseen \cap assigned, "NonExistentPartition")
      w == IF HasThrown(v) THEN v ELSE Fold(SetStarted, v, Ascending(unseen))          \* TDM:265
  IN OnPartitionDeletion(SendUpdateMetadata(w, LiveIds(s), assigned), topics)

\* A replica that the stuck state machine has not put in any state: NoSuchElementException. CC:335
Throw(s) == [Apply(s, "deletion/unknown-replica") EXCEPT !.thrown = "NoSuchElementException"]

\* TDM:318, of these topics. retry and eligible are those that the loop finds.
ResumeDeletionsOf(s, topics) ==
  LET visit(x, t) ==
        LET unknown == AnyIs(x.s, t, "NonExistentReplica")
            done == AllAre(x.s, t, "ReplicaDeletionSuccessful")
            busy == ~done /\ AnyIs(x.s, t, "ReplicaDeletionStarted")                   \* TDM:332
            failed == ~done /\ ~busy /\ AnyIs(x.s, t, "ReplicaDeletionIneligible")
            u == IF done THEN CompleteDeleteTopic(Apply(x.s, "deletion/complete"), t)  \* TDM:328
                 ELSE IF busy THEN Apply(x.s, "deletion/in-progress")
                 ELSE IF failed THEN Apply(x.s, "deletion/retry")
                 ELSE x.s
            idle  == Known(u, t).queued /\ ~AnyIs(u, t, "ReplicaDeletionStarted")      \* TDM:221
            again == idle /\ ~Known(u, t).ineligible
            v == IF again THEN Apply(u, "deletion/start")
                 ELSE IF idle THEN Apply(u, "deletion/halted")
                 ELSE u
        IN IF HasThrown(x.s) THEN x
           ELSE IF unknown THEN [x EXCEPT !.s = Throw(x.s)]                            \* TDM:328
           ELSE IF HasThrown(u) THEN [x EXCEPT !.s = u]
           ELSE [s |-> v, retry |-> x.retry \cup (IF failed THEN {t} ELSE {}),
                 eligible |-> x.eligible \cup (IF again THEN {t} ELSE {})]
      x == Fold(visit, [s |-> s, retry |-> {}, eligible |-> {}], Ascending(topics))
      failed == UNION {InState(x.s, t, "ReplicaDeletionIneligible") : t \in x.retry}
      u == ChangeReplicas(x.s, failed, "OfflineReplica")                          \* TDM:232, 349
  IN IF HasThrown(s) \/ HasThrown(x.s) THEN x.s
     ELSE IF HasThrown(u) \/ x.eligible = {} THEN u
     ELSE OnTopicDeletion(u, x.eligible)                                               \* TDM:354

\* 2.4 goes on with one topic after the other. 2.4.1 TDM:334
ResumeDeletions(s) ==
  LET one(u, t) == ResumeDeletionsOf(u, {t})
  IN IF Version = "2.4" THEN Fold(one, s, Ascending(Queued(s))) ELSE ResumeDeletionsOf(s, Queued(s))

\* TDM:121
EnqueueTopicsForDeletion(s, topics) == ResumeDeletions(Fold(SetQueued, s, Ascending(topics)))

\* TDM:134
ResumeDeletionForTopics(s, topics) ==
  LET resumed == topics \cap Queued(s)
  IN IF HasThrown(s) \/ resumed = {} THEN s
     ELSE ResumeDeletions(Fold(SetEligible, s, Ascending(resumed)))

\* TDM:151
FailReplicaDeletion(s, replicas) ==
  LET failed == {r \in replicas : Known(s, r[1]).queued}
      u == ChangeReplicas(s, failed, "ReplicaDeletionIneligible")
  IN IF HasThrown(s) \/ failed = {} THEN s
     ELSE ResumeDeletions(MarkIneligible(u, {r[1] : r \in failed}))

\* TDM:206
CompleteReplicaDeletion(s, replicas) ==
  LET deleted == {r \in replicas : Known(s, r[1]).queued}
  IN ResumeDeletions(ChangeReplicas(s, deleted, "ReplicaDeletionSuccessful"))

\* TDM:95, KC:959
InitDeletions(s) ==
  LET offline == {t \in Numbers : /\ Known(s, t).known
                                  /\ \E r \in ReplicasOf(s, {t}) : ~IsLive(s, r[2])}
      moving == {t \in Numbers : Known(s, t).reassigned}                               \* KC:965
      deletions == {t \in Numbers : s.nodes.deletions[t]}
  IN Fold(SetIneligible, Fold(SetQueued, s, Ascending(deletions)),
          Ascending((offline \cup moving) \cap deletions))

=============================================================================
