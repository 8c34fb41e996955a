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

\* Whether the group still waits for the assignments.
Awaits(s, entry) ==
  IF s.group = NoGroup THEN FALSE
  ELSE s.group.state = "CompletingRebalance" /\ s.group.generation = entry.generation

\* The assignments reach the members, if the group still waits for them. GC:427
CompleteGroupAppend(s, entry) ==
  LET g == s.group
      given == [s EXCEPT !.group.members =
                  [n \in DOMAIN g.members |->
                     [g.members[n] EXCEPT !.assignment = entry.assignments[n]]]]
  IN IF ~Awaits(s, entry) THEN {Apply(s, "log/assignments-outdated")}
     ELSE IF entry.error # Fine
     THEN MaybePrepareRebalance(PropagateAssignment(Apply(s, "log/assignments-failed"),
                                                    GroupError(entry.error)))
     ELSE {[PropagateAssignment(Apply(given, "log/assignments-stored"), "NONE")
              EXCEPT !.group.state = "Stable"]}

Stored(s, entry, place) ==
  LET answer == ErrorAnswer(IF place = 0 THEN This ELSE Held, CommitError(entry.error))
      plain == entry.kind = "offsets"
      stored == IF entry.outlived THEN "log/offsets-outlive-group"
                ELSE IF plain THEN "log/offsets-stored" ELSE "log/transaction-stored"
      failed == IF plain THEN "log/offsets-failed" ELSE "log/transaction-failed"
  IN IF entry.error = Fine
     THEN Later(Apply(s, stored), IF plain THEN "OffsetCommit" ELSE "TxnOffsetCommit", answer)
     ELSE Answer(Apply(s, failed), answer)

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

\* The member has its old id again, but offers what it came back with; if it has come back yet again
\* Kafka fails after that, and whoever waits is forgotten. GC:1061
Reverted(s, entry) ==
  LET g == s.group
      n == entry.memberId
      old == entry.replaced
      back == [g.members[n] EXCEPT !.protocols = entry.offered, !.awaitingJoin = FALSE]
      m == RearmSession([back EXCEPT !.awaitingSync = FALSE, !.told = entry.wasTold])
  IN IF n # entry.told
     THEN [Apply(s, "log/new-id-outdated") EXCEPT !.group.members[n] = back]
     ELSE
     [Answer(Apply(s, "log/new-id-failed"), [CurrentGeneration(This, g, NoMember) EXCEPT
                   !.error = GroupError(entry.error), !.leader = entry.leader,
                   !.members = NoEntries])
        EXCEPT !.group.members = With(Without(@, {n}), old, m),
               !.group.leader = IF @ = n THEN old ELSE @,
               !.group.statics = With(@, m.instance, old)]

\* What a static member that came back is answered once its new id is stored.
ToldNewId(to, g, entry) ==
  LET leads == entry.current /\ g.leader = entry.told
  IN [CurrentGeneration(to, g, entry.told) EXCEPT
        !.leader = IF entry.current THEN g.leader ELSE entry.leader,
        !.skips = leads,
        !.members = IF leads THEN MemberList(g) ELSE NoEntries]

\* Of one that outlives its group nothing more comes than the answer.
Outlived(s, entry) ==
  IF entry.error = Fine THEN Answer(Apply(s, "log/new-id-stored"), entry.answer)
  ELSE Answer(Apply(s, "log/new-id-failed"), [entry.answer EXCEPT
                    !.error = GroupError(entry.error), !.leader = entry.leader,
                    !.memberId = NoMember, !.members = NoEntries])

\* A static member that came back is answered if it still waits. GC:1073
CompleteStaticAppend(s, entry) ==
  LET g == s.group
      n == entry.memberId
      leads == entry.current /\ g.leader = n
      outdated == {Apply(s, "log/new-id-outdated")}
  IN IF entry.outlived THEN {Outlived(s, entry)}
     ELSE IF n \notin Members(g) THEN outdated
     ELSE IF entry.error # Fine THEN {Reverted(s, entry)}
     ELSE IF ~g.members[n].awaitingJoin THEN outdated
     \* Kafka fails to list the members. 4.1 CG:1311
     ELSE IF leads /\ g.state = "PreparingRebalance" THEN outdated
     ELSE {[Answer(Apply(s, "log/new-id-stored"), ToldNewId(Parked("JoinGroup", n), g, entry))
              EXCEPT !.group.members[n].awaitingJoin = FALSE,
                     !.group.members[n].told = @ \/ entry.told = n]}

CompleteAppend(s, entry, place) ==
  CASE entry.kind = "group"       -> CompleteGroupAppend(s, entry)
    [] entry.kind = "static"      -> CompleteStaticAppend(s, entry)
    [] entry.kind = "offsets"     -> CompleteOffsetsAppend(s, entry, place)
    [] entry.kind = "transaction" -> CompleteTransactionAppend(s, entry, place)
    [] entry.kind = "answer"      -> {Answer(Apply(s, "log/answer-released"), entry.answer)}
    [] entry.kind = "request"     -> {s}

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
      t == [(IF s.failing = Fine THEN NoteWritten(recorded) ELSE recorded) EXCEPT !.failing = Fine]
      ends == [entry EXCEPT !.error = s.failing]
      \* Where it is the answers that wait, what fails does so at once, and offsets take effect.
      atOnce == AnswersWait /\ (s.failing # Fine \/ entry.kind \in {"offsets", "transaction"})
      appended == IF s.holding /\ ~atOnce THEN {[t EXCEPT !.appends = Append(@, ends)]}
                  ELSE CompleteAppend(t, ends, 0)
  IN UNION {Settle(u, s.failing) : u \in appended}

\* Who made the group is told if it cannot be recorded, unless it was answered; the id that it was
\* given then is nobody's. 4.1 GMM:6194
StoreNewGroup(s) ==
  LET forgotten == [Apply(s, "log/group-forgotten") EXCEPT
                      !.failing = Fine, !.group = NoGroup,
                      !.answers = {[a EXCEPT !.memberId = NoMember] : a \in @}]
  IN IF s.failing = Fine THEN NoteWritten([s EXCEPT !.log.group = IF Logged THEN NewRecord ELSE @])
     ELSE IF DOMAIN s.group.members = {} THEN forgotten
     ELSE Answer(forgotten, JoinAnswer(This, GroupError(s.failing), NoMember))

RECURSIVE CompleteFrom(_, _, _)
CompleteFrom(s, entries, place) ==
  IF place > Len(entries) THEN {s}
  ELSE UNION {CompleteFrom(t, entries, place + 1) : t \in CompleteAppend(s, entries[place], place)}

Released(s) ==
  CompleteFrom([s EXCEPT !.appends = <<>>, !.holding = FALSE, !.committed = Everything],
               s.appends, 1)

\* The leader's assignments go to the log, nothing for those it forgot. GC:415
StoreAssignments(s, given) ==
  AppendToLog(s, [NoEntry EXCEPT
    !.kind = "group", !.generation = s.group.generation,
    !.api = IF AnswersWait THEN "SyncGroup" ELSE @,
    !.of = IF AnswersWait THEN s.group.leader ELSE @,
    !.assignments = [n \in DOMAIN s.group.members |-> IF n \in DOMAIN given THEN given[n] ELSE ""]])

\* Where groups without members die, the offsets of one that never was are all there is of it.
OffsetsOnly(s) ==
  IF s.group # NoGroup THEN s
  ELSE [s EXCEPT !.group = [NewGroup EXCEPT !.state = IF EmptyDies THEN "Dead" ELSE "Empty",
                                            !.unwritten = HidesUnwritten]]

\* GMM:340
StoreOffsets(s, r) ==
  IF r.tooLong
  THEN {Later(Apply(s, "commit/metadata-too-large"), "OffsetCommit",
              ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE {IF s.holding /\ ~AnswersWait THEN [t EXCEPT !.group.unstable = Len(t.appends)] ELSE t
        : t \in AppendToLog(s, [NoEntry EXCEPT !.kind = "offsets",
                                              !.offset = Committed(5, r)])}

=============================================================================
