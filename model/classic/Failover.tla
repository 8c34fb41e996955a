------------------------------ MODULE Failover -------------------------------
(* The partition moves, the process crashes, the coordinator shuts down.      *)
EXTENDS Waiting

\* What remains of an append after its group is unloaded: the response to a commit, or to a static
\* member that still waits for it. While a rebalance is prepared the unload itself answers. GC:1073
AppendAfterUnload(g, a) ==
  LET n == a.memberId
      due == IF n \notin Members(g) THEN FALSE
             ELSE g.members[n].awaitingJoin /\ g.joinTimer = NoTimer
  IN IF a.kind # "static" THEN [a EXCEPT !.afterUnload = TRUE]
     ELSE [a EXCEPT !.memberId = NoMember, !.afterUnload = @ \/ due,
                    !.answer = IF due THEN NewIdAnswer(Held, g, a) ELSE @]

\* Parked requests get NOT_COORDINATOR. Commits and static members whose append is not complete
\* are answered when it completes. A group that is stuck (KAFKA-6005) answers its parked JoinGroup
\* once more. GC:869, 0.10.2 GC:513
Unloaded(before) ==
  LET s == FailDeferred(before)
      g == s.group
      members == IF g = NoGroup THEN {} ELSE DOMAIN g.members
      joins == {n \in members : g.members[n].awaitingJoin /\ g.state = "PreparingRebalance"}
      syncs == {n \in members : g.members[n].awaitingSync}
      outlives(a) == a.kind \in {"offsets", "transaction", "static"}
      kept == SelectSeq(s.appends, outlives)
  IN [s EXCEPT
        !.group = NoGroup, !.serving = "unloaded", !.forgottenJoin = Stopped,
        !.appends = [i \in DOMAIN kept |-> AppendAfterUnload(g, kept[i])],
        !.answers = @
          \cup {[JoinAnswer(Parked("JoinGroup", n), "NOT_COORDINATOR", n) EXCEPT
                   !.generation = RefusedGeneration] : n \in joins}
          \cup {SyncAnswer(Parked("SyncGroup", n), "NOT_COORDINATOR") : n \in syncs}]

LoadedMember(m) ==
  [protocols |-> m.protocols, isNew |-> FALSE, idKnown |-> TRUE, sessionLeft |-> SessionTicks,
   awaitingJoin |-> FALSE, awaitingSync |-> FALSE, assignment |-> m.assignment,
   instance |-> m.instance, nullInstance |-> LoadedCountAsStatic, unsynced |-> FALSE]

\* The group of the last record in the log, with the offsets. GMM:564
LoadedAll(s) ==  \* A group.instance.id of two members becomes that of either. GM:149
  LET r == s.log.group
      alone == [NewGroup EXCEPT
                  !.state = IF EmptyGroupsDie THEN "Dead" ELSE "Empty", !.offset = s.log.offset,
                  !.transaction = s.log.transaction,
                  !.awaitsMarker = s.log.transaction # NoTransaction]
      bare == ~HasRecords(s.log) /\ ~s.log.emptied
      instances == {r.members[n].instance : n \in DOMAIN r.members} \ {NoInstance}
      owners == {f \in [instances -> DOMAIN r.members] :
                   \A i \in instances : r.members[f[i]].instance = i}
      restored(statics) ==
        [alone EXCEPT
           !.state = IF DOMAIN r.members = {} THEN "Empty" ELSE "Stable",
           !.generation = r.generation, !.protocolType = r.protocolType,
           !.protocolName = r.protocolName, !.leader = r.leader, !.emptyLeft = r.emptyLeft,
           !.statics = statics,
           !.members = [n \in DOMAIN r.members |-> LoadedMember(r.members[n])]]
      rule == IF r # NoRecord /\ DOMAIN r.members # {} THEN "failover/restored"
              ELSE "failover/restored-empty"
      found == IF r = NoRecord THEN ~bare /\ ~EmptyGroupsDie ELSE TRUE
      groups == IF r = NoRecord THEN {IF bare THEN NoGroup ELSE alone}
                ELSE {[restored(f) EXCEPT !.subscribed = Subscribed(restored(f), r.protocolName)]
                       : f \in owners}
  IN {[ApplyIf(s, found, rule) EXCEPT !.serving = "served", !.group = g] : g \in groups}

\* A loaded group that has too many members for the broker rebalances. GC:897
FitToSize(s) ==
  IF Old \/ Cardinality(Members(s.group)) =< s.maxSize THEN {s}
  ELSE PrepareRebalance(Apply(s, "failover/too-large"))

\* Deleted and aborted offsets are compacted before or not. 4.1 OMM:1148, GMM:5894
Loaded(s) ==
  UNION {UNION {FitToSize(t) : t \in LoadedAll([s EXCEPT !.log.emptied = e])}
         : e \in {FALSE, s.log.emptied}}

\* Appends that are not complete are in the log. Their requests are never answered. GMM:544
Crashed(s) ==
  LET t == [s EXCEPT !.group = NoGroup, !.appends = <<>>, !.committed = AllCommitted,
                     !.active = TRUE, !.forgottenJoin = Stopped]
  IN IF t.serving = "unloaded" THEN {t} ELSE Loaded(t)

\* A partition that is served now is loaded at the next start, even if the shutdown unloads it.
\* GC:118, 4.1 GCS:2262
ShutDown(s) ==
  LET keepsAny == s.group # NoGroup \/ s.committed # AllCommitted
      unloaded == Unloaded(ApplyIf(s, keepsAny, "failover/unload"))
  IN [(IF ShutdownUnloads THEN [unloaded EXCEPT !.serving = s.serving] ELSE s)
      EXCEPT !.active = FALSE]

==============================================================================
