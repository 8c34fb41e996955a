--------------------------------- MODULE Log ----------------------------------
(* Storing is a step of its own: an append completes at once, or when it is   *)
(* released, or fails.                                                        *)
EXTENDS Rebalance

\* What the error of an append is to SyncGroup, and to OffsetCommit. GMM:283,430, 4.1 GMM:7533
CommitError(error) ==
  IF \/ error = "NOT_ENOUGH_REPLICAS" /\ ReplicasAreMapped
     \/ error = "REQUEST_TIMED_OUT" /\ TimeoutIsUnavailable
  THEN "COORDINATOR_NOT_AVAILABLE"
  ELSE error
GroupError(error) ==
  IF error = "REQUEST_TIMED_OUT" /\ ~TimeoutIsUnavailable THEN "REBALANCE_IN_PROGRESS"
  ELSE CommitError(error)

\* The assignments reach the members, if the group still waits for them. GC:427
CompleteGroupAppend(s, entry) ==
  LET g == s.group
      given == [s EXCEPT !.group.members =
                  [n \in DOMAIN g.members |->
                     [g.members[n] EXCEPT !.assignment = entry.assignments[n]]]]
  IN IF g.state # "CompletingRebalance" \/ g.generation # entry.generation THEN {s}
     ELSE IF entry.error # Fine  \* log/assignments-failed
     THEN MaybePrepareRebalance(PropagateAssignment(s, GroupError(entry.error)))
     ELSE {[PropagateAssignment(given, "NONE") EXCEPT !.group.state = "Stable"]}

Stored(s, entry, place) ==
  Answer(s, ErrorAnswer(IF place = 0 THEN This ELSE Parked("OffsetCommit", ""),
                        CommitError(entry.error)))

\* What a transaction has committed before is the older one now. Of one that outlives its group
\* nothing more comes than the answer. GMM:405
CompleteOffsetsAppend(s, entry, place) ==
  LET fine == entry.error = Fine
      t == [s EXCEPT !.group.offset = IF fine THEN entry.offset ELSE @,
                     !.group.unstable = IF @ = place THEN 0 ELSE @,
                     !.group.transaction.newer =
                       @ /\ ~(fine /\ s.group.transaction.is = "pending")]
  IN {Stored(IF entry.outlived THEN s ELSE t, entry, place)}

\* If no marker has come in between, and no newer commit of the same transaction. GMM:408, GM:632
CompleteTransactionAppend(s, entry, place) ==
  LET t == IF entry.error = Fine
           THEN [s EXCEPT !.group.transaction.is = IF @ = "held" THEN "pending" ELSE @]
           ELSE IF UndoesFailures THEN s
           ELSE [s EXCEPT !.group.transaction = NoTransaction, !.group.awaited = FALSE]
  IN {Stored(IF entry.outlived THEN s ELSE t, entry, place)}

\* The member has its old id again, but offers what it came back with. GC:1062
Reverted(s, entry) ==
  LET g == s.group
      n == entry.memberId
      old == entry.replaced
      m == RearmSession([g.members[n] EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE,
                                             !.told = entry.wasTold])
  IN [Answer(s, [CurrentGeneration(This, g, NoMember) EXCEPT
                   !.error = GroupError(entry.error), !.leader = entry.leader,
                   !.members = NoEntries])
        EXCEPT !.group.members = With(Without(@, {n}), old, m),
               !.group.leader = IF @ = n THEN old ELSE @,
               !.group.statics = With(@, m.instance, old)]

\* A static member that came back is answered if it still waits. GC:1073
CompleteStaticAppend(s, entry) ==
  LET g == s.group
      n == entry.memberId
  IN IF n = NoMember \/ n \notin DOMAIN g.members THEN {s}
     ELSE IF entry.error # Fine THEN {Reverted(s, entry)}
     ELSE IF ~g.members[n].awaitingJoin THEN {s}
     ELSE {[Answer(s, [CurrentGeneration(Parked("JoinGroup", n), g, entry.told) EXCEPT
                         !.leader = entry.leader, !.skips = entry.skips,
                         !.members = IF entry.skips THEN MemberList(g) ELSE NoEntries])
              EXCEPT !.group.members[n].awaitingJoin = FALSE, !.group.members[n].told = TRUE]}

CompleteAppend(s, entry, place) ==
  CASE entry.kind = "group"       -> CompleteGroupAppend(s, entry)
    [] entry.kind = "static"      -> CompleteStaticAppend(s, entry)
    [] entry.kind = "offsets"     -> CompleteOffsetsAppend(s, entry, place)
    [] entry.kind = "transaction" -> CompleteTransactionAppend(s, entry, place)

AppendToLog(s, entry) ==
  LET members == s.group.members
      recorded ==
        IF s.failing # Fine \/ ~Logged THEN s
        ELSE IF entry.kind = "group" THEN RecordGroup(s, entry.assignments)
        ELSE IF entry.kind = "static"
        THEN RecordGroup(s, [n \in DOMAIN members |-> members[n].assignment])
        ELSE IF entry.kind = "offsets"
        THEN [s EXCEPT !.log.offset = entry.offset, !.log.transaction.newer = FALSE]
        ELSE [s EXCEPT !.log.transaction =
                [is |-> "pending", newer |-> TRUE, offset |-> entry.offset]]
      t == [recorded EXCEPT !.failing = Fine]
      ends == [entry EXCEPT !.error = s.failing]
      appended == IF s.holding THEN {[t EXCEPT !.appends = Append(@, ends)]}
                  ELSE CompleteAppend(t, ends, 0)
  IN UNION {Settle(u, s.failing) : u \in appended}

\* Who made the group is told if it cannot be recorded, unless it was answered; the id that it was
\* given then is nobody's. 4.1 GMM:6194
StoreNewGroup(s) ==
  LET forgotten == [s EXCEPT !.failing = Fine, !.group = NoGroup,
                             !.answers = {[a EXCEPT !.memberId = NoMember] : a \in @}]
  IN IF s.failing = Fine THEN [s EXCEPT !.log.group = IF Logged THEN NewRecord ELSE @]
     ELSE IF DOMAIN s.group.members = {} THEN forgotten
     ELSE Answer(forgotten, JoinAnswer(This, GroupError(s.failing), NoMember))

RECURSIVE CompleteFrom(_, _, _)
CompleteFrom(s, entries, place) ==
  IF place > Len(entries) THEN {s}
  ELSE UNION {CompleteFrom(t, entries, place + 1) : t \in CompleteAppend(s, entries[place], place)}

Released(s) ==
  CompleteFrom([s EXCEPT !.appends = <<>>, !.holding = FALSE], s.appends, 1)

\* The leader's assignments go to the log, nothing for those it forgot. GC:415
StoreAssignments(s, given) ==
  AppendToLog(s, [NoEntry EXCEPT
    !.kind = "group", !.generation = s.group.generation,
    !.assignments = [n \in DOMAIN s.group.members |-> IF n \in DOMAIN given THEN given[n] ELSE ""]])

\* Where groups without members die, the offsets of one that never was are all there is of it.
OffsetsOnly(s) ==
  IF s.group # NoGroup THEN s
  ELSE [s EXCEPT !.group = [NewGroup EXCEPT !.state = IF EmptyDies THEN "Dead" ELSE "Empty",
                                            !.unwritten = HidesUnwritten]]

\* GMM:340
StoreOffsets(s, r) ==
  IF r.tooLong THEN {Answer(s, ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE {IF s.holding THEN [t EXCEPT !.group.unstable = Len(t.appends)] ELSE t
        : t \in AppendToLog(s, [NoEntry EXCEPT !.kind = "offsets",
                                              !.offset = Committed(5, r)])}

=============================================================================
